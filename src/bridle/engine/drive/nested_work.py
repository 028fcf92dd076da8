"""Nested git repositories in the worktree of an agent. Git stores only which commit one is at, so they are moved.

Submodules are not: their git folders belong to the worktree, and what they contain comes from their own repositories.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from bridle.errors import DiskError
from bridle.ground.git_folder import git_folder
from bridle.workspace.add_files import NO_SHORTCUTS
from bridle.workspace.git import Git
from bridle.workspace.restore_paths import is_behind_link

# Below the top of the user's working copy: what could not be put into it.
KEPT_FOLDER = Path(".ralph") / "kept"

_REPOSITORY = "160000 "


async def find_nested(git: Git) -> list[str]:
    """Return the nested repositories of a worktree, also those without a commit; not those that git ignores."""
    untracked = await git.names(*NO_SHORTCUTS, "ls-files", "-z", "--others", "--exclude-standard")
    tracked = [line.partition("\t") for line in await git.names("ls-files", "-z", "--stage")]
    names = [name.rstrip("/") for name in untracked if name.endswith("/")]
    names += [name for facts, _, name in tracked if facts.startswith(_REPOSITORY)]
    modules = os.path.realpath(await git.git_path("modules"))
    return [name for name in sorted(set(names)) if _is_repository(git.folder, name, modules)]


def find_blocked(folder: Path, names: Sequence[str]) -> list[str]:
    """Return those that cannot be moved to a working copy: something else is there, or a link on the way."""
    return [name for name in names if is_behind_link(folder, name) or not _is_free(folder / name)]


def move_nested(source: Path, target: Path, names: Sequence[str]) -> None:
    """Move nested repositories from one folder to another, where empty folders may be in their places."""
    for name in names:
        try:
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            if (target / name).is_dir():
                (target / name).rmdir()
            shutil.move(source / name, target / name)
        except OSError as error:
            raise DiskError(
                f"cannot move the nested repository {source / name} to {target / name}: {error.strerror}",
                remedy="Move it yourself, then run: bridle drive",
            ) from error


def _is_repository(folder: Path, name: str, modules: str) -> bool:
    place = git_folder(folder / name) if not is_behind_link(folder, name) else None
    return place is not None and not Path(os.path.realpath(place)).is_relative_to(modules)


def _is_free(path: Path) -> bool:
    if not os.path.lexists(path):
        return True
    return path.is_dir() and not path.is_symlink() and next(path.iterdir(), None) is None

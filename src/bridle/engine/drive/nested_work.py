"""Work in nested git repositories and submodules in the worktree of an agent.

Git stores only which commit one is at, so they are moved: repositories whole, and files in the folder of a repository
that is not in the worktree one by one. A submodule without work of its own stays where it is, if the user has it too.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from bridle.errors import DiskError, GitError
from bridle.ground.git_folder import git_folder
from bridle.workspace.add_files import NO_SHORTCUTS
from bridle.workspace.git import Git
from bridle.workspace.nested_git import nested_git
from bridle.workspace.restore_paths import is_behind_link

# Below the top of the user's working copy: what could not be put into it.
KEPT_FOLDER = Path(".ralph") / "kept"

_REPOSITORY = "160000 "
# The git folder of a submodule on its way from the worktree's git folder to the submodule.
_MOVING = ".git-of-submodule"


async def find_nested(git: Git, target: Path | None = None) -> list[str]:
    """Return the nested repositories of a worktree, also those without a commit; not those that git ignores.

    With the files in places of repositories that are not in it, and with submodules: those that have work of their own,
    and those that the working copy `target` does not have.
    """
    untracked = await git.names(*NO_SHORTCUTS, "ls-files", "-z", "--others", "--exclude-standard")
    places = await _find_places(git)
    found: list[str] = []
    for name in sorted({*places, *(name.rstrip("/") for name in untracked if name.endswith("/"))}):
        if is_behind_link(git.folder, name) or os.path.islink(git.folder / name):
            continue
        if git_folder(git.folder / name) is None:
            found += _find_files(git.folder, name) if name in places else []
        elif not _is_submodule(git.folder, name) or _is_wanted(target, name) or await _has_work(git, name):
            found.append(name)
    return found


def find_blocked(folder: Path, names: Sequence[str]) -> list[str]:
    """Return those that cannot be moved to a working copy: something else is there, or a link on the way."""
    return [name for name in names if is_behind_link(folder, name) or not _is_free(folder / name)]


async def move_nested(git: Git, target: Path, names: Sequence[str]) -> None:
    """Move what was found in a worktree to another folder, where empty folders may be in its places."""
    for name in names:
        source = git.folder / name
        try:
            if source.is_dir():
                await _separate(git, name)
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            if (target / name).is_dir():
                (target / name).rmdir()
            shutil.move(source, target / name)
        except OSError as error:
            raise DiskError(
                f"cannot move the nested repository {source} to {target / name}: {error.strerror}",
                remedy="Move it yourself, then run: bridle drive",
            ) from error


async def finish_moves(git: Git) -> None:
    """Put git folders into their submodules that a kill has left on the way there."""
    for name in await _find_places(git):
        for folder, folders, _ in os.walk(git.folder / name):
            if _MOVING in folders and git_folder(folder) in (None, _missing(folder)):
                _finish(Path(folder))
            folders[:] = [one for one in folders if one not in (".git", _MOVING)]


async def _find_places(git: Git) -> list[str]:
    """Return the places of nested repositories that git knows."""
    tracked = [line.partition("\t") for line in await git.names("ls-files", "-z", "--stage")]
    return [name for facts, _, name in tracked if facts.startswith(_REPOSITORY)]


def _find_files(folder: Path, name: str) -> list[str]:
    """Return the files below a folder; a repository in it as a whole."""
    found: list[str] = []
    for at, folders, files in os.walk(folder / name):
        inner = [one for one in folders if os.path.lexists(f"{at}/{one}/.git") or os.path.islink(f"{at}/{one}")]
        folders[:] = [one for one in folders if one not in inner]
        found += [os.path.relpath(f"{at}/{one}", folder) for one in (*files, *inner)]
    return sorted(found)


def _is_wanted(target: Path | None, name: str) -> bool:
    return target is not None and _is_free(target / name)


async def _has_work(git: Git, name: str) -> bool:
    """Return whether a submodule has changes, or commits that its remote does not have."""
    nested = nested_git(git, name)
    if nested is None:
        return True
    try:
        if await nested.text("status", "--porcelain", "--untracked-files=all"):
            return True
        return bool(await nested.text("rev-list", "-n1", "--all", "HEAD", "--not", "--remotes"))
    except GitError:  # without a commit, or damaged: it may have anything
        return True


async def _separate(git: Git, name: str) -> None:
    """Move the git folders of a submodule, and of those in it, from the git folder of the worktree into them."""
    for folder in _find_submodules(git.folder, name):
        place = git_folder(folder)
        if place is None or not os.path.isdir(place):
            continue
        shutil.rmtree(folder / _MOVING, ignore_errors=True)  # a copy that a kill has cut off
        for settings in (f"{place}/config", f"{place}/config.worktree"):
            if os.path.isfile(settings):
                await git.run("config", "--file", settings, "--unset-all", "core.worktree", accepts=(0, 5))
        shutil.move(place, folder / _MOVING)
        _finish(folder)


def _find_submodules(top: Path, name: str) -> Iterator[Path]:
    """Yield the folders of a submodule and of those in it, the deepest first."""
    for folder, folders, _ in os.walk(top / name, topdown=False):
        if ".git" not in folders and _is_submodule(top, os.path.relpath(folder, top)):
            yield Path(folder)


def _finish(folder: Path) -> None:
    (folder / ".git").unlink(missing_ok=True)
    (folder / _MOVING).rename(folder / ".git")


def _missing(folder: str) -> str | None:
    """Return the git folder that the `.git` file of a folder names, if it is not there."""
    place = git_folder(folder)
    return place if place is not None and not os.path.isdir(place) else None


def _is_submodule(top: Path, name: str) -> bool:
    """Return whether the git folder of a repository is in that of the worktree."""
    place, own = git_folder(top / name), git_folder(top)
    if place is None or own is None:
        return False
    return Path(os.path.realpath(place)).is_relative_to(os.path.realpath(f"{own}/modules"))


def _is_free(path: Path) -> bool:
    if not os.path.lexists(path):
        return True
    return path.is_dir() and not path.is_symlink() and next(path.iterdir(), None) is None

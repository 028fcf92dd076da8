"""Where a working copy and its git folder are, read from the file system without starting git."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from bridle.errors import DiskError
from bridle.ground import disk

# A `.git` file and a `commondir` file hold one path each.
_PATH_LIMIT_BYTES = 64 * 1024
_PREFIX = "gitdir: "
# More than any repository has, also submodules of submodules; an agent could make any number of folders.
_SUBMODULES = 1000
_SUBMODULE_DEPTH = 10
# Variables that lead git to another repository, index or objects than those of the folder it runs in. Git sets some of
# them for its hooks.
_REPOSITORY_VARIABLES = frozenset(
    {
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_PREFIX",
        "GIT_COMMON_DIR",
        "GIT_NAMESPACE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_GRAFT_FILE",
        "GIT_SHALLOW_FILE",
        "GIT_REPLACE_REF_BASE",
        "GIT_QUARANTINE_PATH",
    }
)


def without_repository_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which git uses the repository of the folder it runs in."""
    return {name: value for name, value in environment.items() if name not in _REPOSITORY_VARIABLES}


def repository_top(folder: Path) -> Path | None:
    """Return the top of the working copy that a folder is in; None outside of a repository."""
    if os.path.exists(f"{folder}/.git"):
        return folder
    return next((above for above in folder.parents if os.path.exists(f"{above}/.git")), None)


def folders_up_to_top(folder: Path) -> list[Path]:
    """Return the folder and its parents up to the repository's top; outside of one, the folder alone."""
    folders = [folder, *folder.parents]
    return folders[: folders.index(repository_top(folder) or folder) + 1]


def leads_out(path: Path, folder: Path) -> bool:
    """Return whether links lead from a file below a folder's repository out of it; outside of one, out of the folder.

    A repository ships such a link: what it leads to belongs to the user.
    """
    top = repository_top(folder) or folder
    return path.is_relative_to(top) and not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(top))


def git_folder(top: str | Path) -> str | None:
    """Return the git folder of the working copy whose top this is, following a `.git` file.

    None if it has no git folder, or its `.git` file cannot be read. A worktree and a submodule have such a file. The
    result is a str: an iteration asks dozens of times, and a Path takes longer to make than a file to find.
    """
    entry = f"{top}/.git"
    if os.path.isdir(entry):
        return entry
    text = read_path(entry)
    if text is None or not text.startswith(_PREFIX):
        return None
    return os.path.join(top, text.removeprefix(_PREFIX))


def common_folder(git_folder: str) -> str:
    """Return the folder that all worktrees of a repository share: refs, objects, settings."""
    file = f"{git_folder}/commondir"
    text = read_path(file) if os.path.exists(file) else None
    return git_folder if text is None else os.path.join(git_folder, text)


def find_common_folder(folder: Path) -> Path | None:
    """Return the common git folder of the repository that a folder is in, without links; None outside of one."""
    top = repository_top(folder)
    folder_of_top = None if top is None else git_folder(top)
    if folder_of_top is None or not os.path.isdir(folder_of_top):
        return None
    return Path(os.path.realpath(common_folder(folder_of_top)))


def submodule_folders(git_folder: Path) -> list[Path]:
    """Return the git folders of the submodules of a working copy, and of theirs, without following links."""
    found: list[Path] = []
    pending = [(git_folder / "modules", 0)]
    while pending and len(found) < _SUBMODULES:
        folder, depth = pending.pop()
        for name in _folders_in(folder) if depth < _SUBMODULE_DEPTH else ():
            path = folder / name
            if os.path.lexists(path / "HEAD") and os.path.isdir(path / "objects"):
                found.append(path)
                pending.append((path / "modules", depth + 1))
            else:  # the name of a submodule may have slashes
                pending.append((path, depth + 1))
    return sorted(found)


def _folders_in(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []  # there is no such folder


def read_path(file: str) -> str | None:
    """Return the one line of a file that holds a path; None where it is missing, or not a single line."""
    try:
        data = disk.read_bounded(file, _PATH_LIMIT_BYTES)
    except DiskError:
        return None
    text = data.decode("utf-8", "surrogateescape").rstrip("\r\n")
    return None if not text or "\n" in text else text

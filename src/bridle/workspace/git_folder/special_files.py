"""Named pipes and devices where git reads a file: git would wait on them, or read without end."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from bridle.workspace.git_folder import git_links, read_git_files

# Files that git reads in every folder of a working copy.
_NAMES = frozenset({".gitattributes", ".gitignore", ".gitmodules", ".mailmap"})
_GIT = ".git"


def clear_git_folder(folder: Path) -> list[str]:
    """Remove the special files in the git folder of a working copy, and links to such; return their names."""
    found = find_in_git_folder(folder)
    for path in found:
        with suppress(FileNotFoundError):
            os.unlink(path)
    return list(found.values())


def find_in_git_folder(folder: Path, *, with_objects: bool = True) -> dict[str, str]:
    """Return the paths of the special files in the git folder of a working copy, each with its name for the user."""
    try:
        own, common = read_git_files.git_folders(folder)
    except read_git_files.NeedsGit:
        own = common = os.path.join(folder, _GIT)
    tops = dict.fromkeys((os.path.realpath(common), os.path.realpath(own)))
    return {
        path: f"{_GIT}/{os.path.relpath(path, top)}"
        for top in tops
        for path in git_links.irregular_files(top, with_objects=with_objects)
        if _is_special(path)
    }


def find_in_files(folder: Path) -> list[str]:
    """Return the special files that git would read in any folder of a working copy, all git folders included."""
    found = list(find_in_git_folder(folder))
    for root, folders, names in os.walk(folder):
        if root == str(folder) and _GIT in folders:
            folders.remove(_GIT)
        is_repository = _GIT in root[len(str(folder)) :].split(os.sep)
        paths = [os.path.join(root, name) for name in names if is_repository or name in _NAMES]
        found += [path for path in paths if _is_special(path)]
    return found


def unblock(path: str, *, removes: bool) -> None:
    """Let a program continue that waits for a named pipe: it reads an empty file."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        fd = None  # a device, or gone
    if removes:
        with suppress(FileNotFoundError):
            os.unlink(path)
    if fd is not None:
        os.close(fd)


def _is_special(path: str) -> bool:
    """Return whether it is a named pipe, a device, or a link to one. A socket cannot be opened, and blocks nothing."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISBLK(mode)

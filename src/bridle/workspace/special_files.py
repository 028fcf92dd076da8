"""Named pipes and devices where git reads a file: git would wait on them, or read without end."""

from __future__ import annotations

import math
import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from bridle.workspace import read_git_files

# Files that git reads in every folder of a working copy.
_NAMES = frozenset({".gitattributes", ".gitignore", ".gitmodules", ".mailmap"})
_GIT = ".git"
# Folders of objects: those in which nothing was added since a time need not be listed.
_OBJECTS = re.compile(r"[0-9a-f]{2}|pack")


def clear_git_folder(folder: Path, since: float = 0.0) -> list[str]:
    """Remove the special files in the git folder of a working copy, and links to such; return their names.

    `since`: when folders of objects had none.
    """
    found = find_in_git_folder(folder, since)
    for path in found:
        with suppress(FileNotFoundError):
            os.unlink(path)
    return list(found.values())


def find_in_git_folder(folder: Path, since: float = 0.0) -> dict[str, str]:
    """Return the paths of the special files in the git folder of a working copy, each with its name for the user."""
    try:
        own, common = read_git_files.git_folders(folder)
    except read_git_files.NeedsGit:
        own = common = os.path.join(folder, _GIT)
    tops = dict.fromkeys((os.path.realpath(common), os.path.realpath(own)))
    return {path: f"{_GIT}/{os.path.relpath(path, top)}" for top in tops for path in _special_files(top, since)}


def find_in_files(folder: Path) -> list[str]:
    """Return the special files that git would read in any folder of a working copy, all git folders included."""
    found = list(find_in_git_folder(folder))
    for root, folders, names in os.walk(folder):
        if root == str(folder) and _GIT in folders:
            folders.remove(_GIT)
        is_repository = _GIT in root[len(str(folder)) :].split(os.sep)
        found += [path for name in names if is_repository or name in _NAMES for path in _if_special(root, name)]
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


def _special_files(top: str, since: float) -> Iterator[str]:
    pending = [top]  # no recursion: an agent can nest folders as deep as it likes
    while pending:
        folder = pending.pop()
        try:
            entries = list(os.scandir(folder))
        except OSError:
            continue
        for entry in entries:
            if not entry.is_dir(follow_symlinks=False):
                if not entry.is_file(follow_symlinks=False):
                    yield from _if_special(folder, entry.name)
            elif not _OBJECTS.fullmatch(entry.name) or _changed_at(entry) >= since:
                pending.append(entry.path)


def _changed_at(entry: os.DirEntry[str]) -> float:
    try:
        return entry.stat(follow_symlinks=False).st_ctime
    except OSError:
        return -math.inf  # a git process has removed it: folders of new objects exist for a moment


def _if_special(folder: str, name: str) -> Iterator[str]:
    """Yield the path of a named pipe, a device, or a link to one. A socket cannot be opened, and blocks no program."""
    path = os.path.join(folder, name)
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return
    if stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        yield path

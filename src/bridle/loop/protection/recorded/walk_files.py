"""One walk over a working copy, without git: nested repositories, and files that programs of the user run later.

Folders that have not changed since the last walk are not listed again, see `known_folders`.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from bridle.ground.files.known_folders import KnownFolders
from bridle.loop.protection.recorded.startup_table import NOT_SEARCHED, existing, may_be_startup

# Folders at the top that git does not enter.
_OWN_FOLDERS = (".a5c", ".ralph")


class Walked(Struct, frozen=True):
    """What was found below a working copy."""

    repositories: tuple[Path, ...]
    """The folders that have a `.git` entry, without the top."""
    startup: tuple[str, ...]
    """The files of `startup_table`, relative to the top."""
    closed: Mapping[str, int] = {}
    """The folders that cannot be listed or entered, with their modes, which they have again."""
    opened: tuple[str, ...] = ()
    """Closed folders, relative to the top, that stay open."""


class Folder(Struct, frozen=True):
    """The entries of one folder."""

    is_repository: bool
    """Whether it has an entry `.git`, which is in none of the lists."""
    candidates: tuple[str, ...]
    """Entries that may be startup files."""
    folders: tuple[str, ...]
    special: tuple[str, ...]
    """What is neither a folder nor a file nor a link."""
    files: tuple[str, ...]
    """Some of the files and links: all of them would take much memory."""
    has_more_files: bool


# How many names of files are kept of each folder.
_KEPT_FILES = 20
# By the working copy.
_known: dict[str, KnownFolders[Folder]] = {}


def list_folder(top: Path, folder: str) -> Folder:
    """Return the entries of a folder of a working copy: as at the last walk, if it has not changed since.

    OSError where it cannot be read.
    """
    return _known.setdefault(str(top), KnownFolders(_read)).content(folder)


def walk(top: Path, *, before: Mapping[str, int] | None = None) -> Walked:
    """Look at every folder once. What cannot be read is left out: git cannot enter it either.

    A folder that can be entered and not listed would hide a repository, which git finds by its index; one that cannot
    be entered now can be later. It is opened: for good if it was not so `before`, else as long as the walk takes.
    """
    start = str(top)
    known = _known.setdefault(start, KnownFolders(_read))
    skipped = {f"{start}/{name}" for name in _OWN_FOLDERS}
    repositories: list[Path] = []
    candidates: list[tuple[str, str]] = []
    closed: dict[str, int] = {}
    pending = [(start, True)]
    while pending:
        folder, is_searched = pending.pop()
        try:
            found = _content(known, start, folder, closed)
        except OSError:
            continue
        if found.is_repository and folder != start:
            repositories.append(Path(folder))
        if is_searched:
            candidates += [(folder, name) for name in found.candidates]
        for name in found.folders:
            path = f"{folder}/{name}"
            if path not in skipped:
                pending.append((path, is_searched and name not in NOT_SEARCHED))
    known.end()
    files = [file for folder, name in sorted(candidates) for file in existing(start, folder[len(start) + 1 :], name)]
    opened = [] if before is None else [folder for folder, mode in closed.items() if before.get(folder) != mode]
    for folder in reversed([folder for folder in closed if folder not in opened]):
        with suppress(OSError):
            os.chmod(folder, closed[folder])
    shown = tuple(os.path.relpath(folder, start) for folder in opened)
    return Walked(tuple(repositories), tuple(dict.fromkeys(files)), closed, shown)


def _content(known: KnownFolders[Folder], top: str, folder: str, closed: dict[str, int]) -> Folder:
    """Return the entries of a folder; one that cannot be listed or entered is opened, and its mode noted."""
    try:
        found = known.content(folder)
        if not found.is_repository or os.access(folder, os.X_OK):
            return found
    except PermissionError:
        if folder != top:
            _open(os.path.dirname(folder), closed)
    _open(folder, closed)
    return known.content(folder)


def _open(folder: str, closed: dict[str, int]) -> None:
    facts = os.lstat(folder)
    if stat.S_ISDIR(facts.st_mode) and facts.st_mode & stat.S_IRWXU != stat.S_IRWXU:
        os.chmod(folder, stat.S_IMODE(facts.st_mode) | stat.S_IRWXU)
        closed[folder] = stat.S_IMODE(facts.st_mode)


def _read(folder: str) -> Folder:
    is_repository = False
    candidates: list[str] = []
    folders: list[str] = []
    special: list[str] = []
    files: list[str] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            name = entry.name
            if name == ".git":
                is_repository = True
                continue
            if may_be_startup(name):
                candidates.append(name)
            if entry.is_file(follow_symlinks=False) or entry.is_symlink():
                files.append(name)
            elif entry.is_dir(follow_symlinks=False):
                folders.append(name)
            else:
                special.append(name)
    kept = tuple(files[:_KEPT_FILES])
    lists = tuple(candidates), tuple(folders), tuple(special)
    return Folder(is_repository, *lists, files=kept, has_more_files=len(kept) < len(files))

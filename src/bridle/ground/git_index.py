"""The names that a repository tracks, read from its index without starting git."""

from __future__ import annotations

from pathlib import Path

from bridle.errors import DiskError
from bridle.ground import disk
from bridle.ground.git_folder import common_folder, git_folder

# The index of a repository of half a million files.
_LIMIT_BYTES = 64 * 1024 * 1024
_KNOWN_VERSIONS = (b"DIRC\0\0\0\2", b"DIRC\0\0\0\3")
_HEADER_BYTES = 12
# Times, mode, owner, size, the object's SHA-1 and the flags.
_ENTRY_BYTES = 62
_HAS_MORE_FLAGS = 0x40
# An index that is shared, or has folders instead of their files, does not list every name.
_INCOMPLETE = (b"link", b"sdir")


def tracked_names(top: Path) -> list[bytes] | None:
    """Return the names of all tracked files of a working copy, relative to its top; None if they are not known.

    Without an index nothing is tracked.
    """
    folder = git_folder(top)
    if folder is None:
        return None
    try:
        data = disk.read_if_exists(f"{folder}/index", _LIMIT_BYTES)
        settings = disk.read_if_exists(f"{common_folder(folder)}/config", _LIMIT_BYTES) or b""
    except DiskError:
        return None
    if data is None:
        return []
    if data[:8] not in _KNOWN_VERSIONS or b"objectformat" in settings.lower():
        return None  # names with shared beginnings, or longer hashes
    return _names(data)


def tracks(top: Path, name: bytes) -> bool:
    """Return whether a file is tracked; False if that is not known. Fast also in a large repository."""
    folder = git_folder(top)
    try:
        data = None if folder is None else disk.read_if_exists(f"{folder}/index", _LIMIT_BYTES)
    except DiskError:
        return False
    return data is not None and data[:8] in _KNOWN_VERSIONS and b"%s\0" % name.lower() in data.lower()


def _names(data: bytes) -> list[bytes] | None:
    names: list[bytes] = []
    place = _HEADER_BYTES
    for _ in range(int.from_bytes(data[8:12])):
        if place + _ENTRY_BYTES > len(data):
            return None
        start = place + _ENTRY_BYTES + (2 if data[place + _ENTRY_BYTES - 2] & _HAS_MORE_FLAGS else 0)
        end = data.find(b"\0", start)
        if end < 0:
            return None
        names.append(data[start:end])
        place += (end - place) // 8 * 8 + 8
    return None if data[place : place + 4] in _INCOMPLETE else names

"""States of files at the baseline: compared with the disk, and restored byte for byte.

Git is not asked what changed, because its settings can hide changes. Links are never followed.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import stat
from pathlib import Path

import msgspec

from bridle.errors import DiskError
from bridle.ground import disk

FILE = "100644"
PROGRAM = "100755"
LINK = "120000"

# A file that a check names has a few kilobytes; a larger one is data, and is not stored for every run.
LIMIT_BYTES = 8 * 1024 * 1024
MADE_EXECUTABLE = "it was made executable"


class Entry(msgspec.Struct, frozen=True, array_like=True):
    """The recorded state of one file."""

    mode: str
    """Git's mode: a file, an executable or a link."""
    object: str
    """Git's object id of the bytes on the disk."""


def entry_at(folder: Path, path: str, *, digest: str = "sha1") -> Entry | None:
    """Return the state of a path, or None if it is not a file or link, unreadable or too large."""
    place = folder / path
    try:
        status = place.lstat()
        if stat.S_ISLNK(status.st_mode):
            return Entry(LINK, object_id(os.fsencode(os.readlink(place)), digest))
        if not stat.S_ISREG(status.st_mode) or status.st_size > LIMIT_BYTES:
            return None
        data = disk.read_bounded(place, LIMIT_BYTES)
    except (OSError, DiskError):
        return None  # deleted, not readable, or not a possible name
    return Entry(PROGRAM if status.st_mode & stat.S_IXUSR else FILE, object_id(data, digest))


def object_id(data: bytes, digest: str = "sha1") -> str:
    """Return git's object id of these bytes."""
    return hashlib.new(digest, b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def digest_of(object_name: str) -> str:
    """Return the hash algorithm of a repository, by the length of an object id."""
    return "sha256" if len(object_name) == 64 else "sha1"


def describe_change(folder: Path, path: str, was: Entry) -> str | None:
    """Describe how a file differs from its recorded state, or return None."""
    above = _obstacle(folder, path)
    if above is not None:
        kind = "a link" if above.is_symlink() else "a file"
        return f"its folder {above.relative_to(folder)} was replaced by {kind}"
    place = folder / path
    if not exists(folder, path):
        return "it was deleted"
    mode = place.lstat().st_mode
    if stat.S_ISLNK(mode) and was.mode != LINK:
        return f"it was replaced by a link to {os.readlink(place)}"
    if not stat.S_ISLNK(mode) and not stat.S_ISREG(mode):
        return "it was replaced by something that is not a file"
    now = entry_at(folder, path, digest=digest_of(was.object))
    if now is None:
        return "it became too large or unreadable"
    if now.object != was.object:
        return "it was emptied" if now.object == object_id(b"", digest_of(was.object)) else "it was changed"
    if now.mode != was.mode:
        return "it is no longer executable" if was.mode == PROGRAM else MADE_EXECUTABLE
    return None


def restore(folder: Path, path: str, was: Entry, data: bytes, *, staging: Path) -> None:
    """Restore a file atomically. Whatever is in its way is removed, and no link is followed.

    It is written in `staging` first, where the remains of a killed attempt are not taken for work.
    """
    above = _obstacle(folder, path)
    if above is not None:
        _remove(above)
    place = folder / path
    try:
        if place.is_dir() and not place.is_symlink():
            _remove(place)
        place.parent.mkdir(parents=True, exist_ok=True)
        if not _replace(_write(staging, was, data), place):
            os.replace(_write(place.parent, was, data), place)  # staging is on another disk
        disk.sync_folder(place.parent)
    except OSError as error:
        raise DiskError(
            f"cannot restore {place}: {error.strerror}",
            remedy="Check the owner and permissions of its folder.",
            payload=error.errno,
        ) from error


def _write(folder: Path, was: Entry, data: bytes) -> Path:
    temporary = disk.temporary_name(folder)
    if was.mode == LINK:
        os.symlink(os.fsdecode(data), temporary)
        return temporary
    mode = 0o777 if was.mode == PROGRAM else 0o666
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, mode)
    try:
        disk.write_all(fd, data)
        disk.sync(fd)
    finally:
        os.close(fd)
    return temporary


def _replace(temporary: Path, place: Path) -> bool:
    """Move a file into place; return False if the two are on different disks."""
    try:
        os.replace(temporary, place)
    except OSError as error:
        temporary.unlink()
        if error.errno != errno.EXDEV:
            raise
        return False
    return True


def exists(folder: Path, path: str) -> bool:
    """Return whether a file of exactly that name exists, on a case-insensitive disk too."""
    place = folder / path
    if not os.path.lexists(place):
        return False
    if not os.path.lexists(folder / ".GIT"):  # the disk is case-sensitive
        return True
    return place.name in os.listdir(place.parent)


def remove(folder: Path, path: str) -> None:
    """Remove a path, or the link among its parent folders."""
    above = _obstacle(folder, path)
    _remove(above if above is not None else folder / path)


def _obstacle(folder: Path, path: str) -> Path | None:
    """Return the first parent of a path that exists and is not a folder."""
    place = folder
    for part in Path(path).parts[:-1]:
        place = place / part
        if place.is_symlink() or (place.exists() and not place.is_dir()):
            return place
    return None


def _remove(place: Path) -> None:
    try:
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        else:
            place.unlink(missing_ok=True)
    except OSError as error:
        raise DiskError(
            f"cannot remove {place}: {error.strerror}",
            remedy="Check the owner and permissions of its folder.",
            payload=error.errno,
        ) from error

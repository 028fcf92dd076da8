"""Files as they were when the run began: compared with what stands on the disk, and put back byte for byte.

Nothing here asks git what has changed: it can be told not to look. Links are never followed.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path

from bridle.errors import DiskError
from bridle.ground import disk

FILE = "100644"
PROGRAM = "100755"
LINK = "120000"

# A file that a check names is a few kilobytes; one of this size is data, and is not kept for every run.
LIMIT_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True)
class Entry:
    """One file as it was."""

    mode: str
    """As git writes it: a file, a program, a link."""
    object: str
    """The id that git gives its bytes, as they stand on the disk."""


def entry_at(folder: Path, path: str, *, digest: str = "sha1") -> Entry | None:
    """What stands there; None where it is no file and no link, or too large to be kept."""
    place = folder / path
    try:
        found = place.lstat()
        if stat.S_ISLNK(found.st_mode):
            return Entry(LINK, object_id(os.fsencode(os.readlink(place)), digest))
        if not stat.S_ISREG(found.st_mode) or found.st_size > LIMIT_BYTES:
            return None
        data = disk.read_bounded(place, LIMIT_BYTES)
    except (FileNotFoundError, NotADirectoryError, DiskError):
        return None  # it is gone, or may not be read
    return Entry(PROGRAM if found.st_mode & stat.S_IXUSR else FILE, object_id(data, digest))


def object_id(data: bytes, digest: str = "sha1") -> str:
    """The id that git gives to these bytes."""
    return hashlib.new(digest, b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def digest_of(object_name: str) -> str:
    """How a repository makes its ids, by the length of one."""
    return "sha256" if len(object_name) == 64 else "sha1"


def fault(folder: Path, path: str, was: Entry) -> str | None:
    """What is no longer as it was; None where everything is."""
    above = _in_the_way(folder, path)
    if above is not None:
        kind = "a link" if above.is_symlink() else "a file"
        return f"{kind} stands in place of its folder {above.relative_to(folder)}"
    place = folder / path
    if not _is_there(folder, path):
        return "it was deleted"
    mode = place.lstat().st_mode
    if stat.S_ISLNK(mode) and was.mode != LINK:
        return f"a link to {os.readlink(place)} stands in its place"
    if not stat.S_ISLNK(mode) and not stat.S_ISREG(mode):
        return "something that is no file stands in its place"
    now = entry_at(folder, path, digest=digest_of(was.object))
    if now is None:
        return "it has become very large, or can no longer be read"
    if now.object != was.object:
        return "it was emptied" if now.object == object_id(b"", digest_of(was.object)) else "it was changed"
    if now.mode != was.mode:
        return "it can no longer be run" if was.mode == PROGRAM else "it was made a program"
    return None


def put_back(folder: Path, path: str, was: Entry, data: bytes, *, staging: Path) -> None:
    """Make the file what it was, whole or not at all; what stands in its way is removed, and no link is followed.

    It is written in `staging` first, where what a killed attempt leaves cannot be taken for work.
    """
    above = _in_the_way(folder, path)
    if above is not None:
        _remove(above)
    place = folder / path
    if place.is_dir() and not place.is_symlink():
        _remove(place)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        if not _moved_in(_written(staging, was, data), place):
            os.replace(_written(place.parent, was, data), place)  # the two folders are on different disks
        disk.sync_folder(place.parent)
    except OSError as error:
        raise DiskError(
            f"{place} could not be put back: {error.strerror}",
            remedy="Check the owner and the permissions of the folder.",
            payload=error.errno,
        ) from error


def _written(folder: Path, was: Entry, data: bytes) -> Path:
    made = disk.temporary_name(folder)
    if was.mode == LINK:
        os.symlink(os.fsdecode(data), made)
        return made
    mode = 0o777 if was.mode == PROGRAM else 0o666
    fd = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, mode)
    try:
        disk.write_all(fd, data)
        disk.sync(fd)
    finally:
        os.close(fd)
    return made


def _moved_in(made: Path, place: Path) -> bool:
    try:
        os.replace(made, place)
    except OSError as error:
        made.unlink()
        if error.errno != errno.EXDEV:
            raise
        return False
    return True


def is_there(folder: Path, path: str) -> bool:
    """Whether something has exactly that name, also on a disk that takes `A` for `a`."""
    return _is_there(folder, path)


def take_away(folder: Path, path: str) -> None:
    """Remove what has that name, or the link that leads to it."""
    above = _in_the_way(folder, path)
    _remove(above if above is not None else folder / path)


def _is_there(folder: Path, path: str) -> bool:
    place = folder / path
    if not os.path.lexists(place):
        return False
    if not os.path.lexists(folder / ".GIT"):  # capital letters count here
        return True
    return place.name in os.listdir(place.parent)


def _in_the_way(folder: Path, path: str) -> Path | None:
    """The first part of the way to a file that is there and no folder."""
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
            f"{place} could not be removed: {error.strerror}",
            remedy="Check the owner and the permissions of its folder.",
            payload=error.errno,
        ) from error

"""Writes a file atomically and keeps its mode, owner and extended attributes.

Symbolic links are followed. If the directory does not allow a new file but the file is writable, it is overwritten in
place.
"""

from __future__ import annotations

import errno
import os
import stat
import threading
from pathlib import Path

# The directory, or the mount of a single file, does not allow to replace it.
_NOT_REPLACEABLE = frozenset({errno.EACCES, errno.EPERM, errno.EBUSY, errno.EXDEV, errno.EROFS})

# Errors of file systems without hard links (FAT, some network and FUSE file systems).
_NO_HARD_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})


class ChangedOnDisk(Exception):
    """The file has changed since it was checked; nothing was written."""


class Cancelled(Exception):
    """The call was cancelled; nothing was written."""


def save(path: Path, data: bytes, *, expected: os.stat_result | None, cancelled: threading.Event) -> os.stat_result:
    """Write the file; `expected` is the state it was checked in, None if it must not exist."""
    target = Path(os.path.realpath(path))
    if expected is None:
        target.parent.mkdir(parents=True, exist_ok=True)
    elif not os.access(target, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(target))
    try:
        return _replace(target, data, expected, cancelled)
    except OSError as error:
        if expected is None or error.errno not in _NOT_REPLACEABLE:
            raise
    return _overwrite(target, data, expected, cancelled)


def is_same_state(before: os.stat_result, other: os.stat_result) -> bool:
    """Return whether a file was neither replaced nor written between two states."""
    return (before.st_ino, before.st_dev, before.st_size, before.st_mtime_ns) == (
        other.st_ino,
        other.st_dev,
        other.st_size,
        other.st_mtime_ns,
    )


def _replace(target: Path, data: bytes, expected: os.stat_result | None, cancelled: threading.Event) -> os.stat_result:
    # Independent of the target's name, which may already have the maximum length.
    temporary = target.parent / f".bridle-{os.urandom(8).hex()}.tmp"
    try:
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        with open(fd, "wb") as file:
            file.write(data)
            file.flush()
            if expected is not None:
                _copy_metadata(fd, target, expected)
            os.fsync(fd)
            result = os.fstat(fd)
        _check(target, expected, cancelled)
        if expected is None:
            _name_new(temporary, target)
        else:
            os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return result


def _name_new(temporary: Path, target: Path) -> None:
    """Link a new file to its name; unlike a rename, this never replaces a file created in between."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise ChangedOnDisk from None
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        os.replace(temporary, target)
        return
    temporary.unlink()


def _overwrite(target: Path, data: bytes, expected: os.stat_result, cancelled: threading.Event) -> os.stat_result:
    fd = os.open(target, os.O_WRONLY | os.O_CLOEXEC)
    with open(fd, "wb") as file:
        _check(target, expected, cancelled)
        file.write(data)
        file.truncate()
        file.flush()
        os.fsync(fd)
        return os.fstat(fd)


def _check(target: Path, expected: os.stat_result | None, cancelled: threading.Event) -> None:
    if cancelled.is_set():
        raise Cancelled
    try:
        now = os.stat(target)
    except FileNotFoundError:
        if expected is not None:
            raise ChangedOnDisk from None
        return
    if expected is None or not is_same_state(now, expected):
        raise ChangedOnDisk


def _copy_metadata(fd: int, target: Path, expected: os.stat_result) -> None:
    """Copy owner, extended attributes (including ACLs) and mode of the old file where permitted."""
    mine = os.fstat(fd)
    if (mine.st_uid, mine.st_gid) != (expected.st_uid, expected.st_gid):
        _try_chown(fd, expected.st_uid, expected.st_gid)
    if hasattr(os, "listxattr"):
        _copy_attributes(fd, target)
    os.fchmod(fd, stat.S_IMODE(expected.st_mode))


def _try_chown(fd: int, uid: int, gid: int) -> None:
    for owner in ((uid, gid), (-1, gid)):
        try:
            os.fchown(fd, *owner)
        except PermissionError:
            continue  # only root may change the owner, and only a member may set the group
        return


def _copy_attributes(fd: int, target: Path) -> None:
    try:
        for name in os.listxattr(target):
            os.setxattr(fd, name, os.getxattr(target, name))
    except OSError as error:
        if error.errno not in (errno.ENOTSUP, errno.EPERM, errno.EACCES, errno.ENODATA):
            raise

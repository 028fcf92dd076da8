"""Writes a file atomically and keeps its mode, owner and extended attributes.

The path is resolved: a link in it was put there after the permission check, and nothing is written through it. All
work happens relative to the descriptor of the directory. If the directory does not allow a new file but the file is
writable, it is overwritten in place.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import threading
from pathlib import Path

from bridle.ground.files import real_path

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
    folder = real_path.open_folder(str(path.parent), create=expected is None)
    try:
        target = _Target(folder, path)
        if expected is not None and not target.is_writable():
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        try:
            return _replace(target, data, expected, cancelled)
        except OSError as error:
            if expected is None or error.errno not in _NOT_REPLACEABLE:
                raise
        return _overwrite(target, data, expected, cancelled)
    finally:
        os.close(folder)


class _Target:
    """A file by its name in an open directory."""

    def __init__(self, folder: int, path: Path) -> None:
        self.folder, self.path, self.name = folder, path, path.name

    def is_writable(self) -> bool:
        effective = os.access in os.supports_effective_ids
        return os.access(self.name, os.W_OK, dir_fd=self.folder, effective_ids=effective)

    def open(self, flags: int) -> int:
        return os.open(self.name, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=self.folder)

    def state(self) -> os.stat_result:
        return os.stat(self.name, dir_fd=self.folder, follow_symlinks=False)


def is_same_state(before: os.stat_result, other: os.stat_result) -> bool:
    """Return whether a file was neither replaced nor written between two states."""
    return (before.st_ino, before.st_dev, before.st_size, before.st_mtime_ns) == (
        other.st_ino,
        other.st_dev,
        other.st_size,
        other.st_mtime_ns,
    )


def _replace(
    target: _Target, data: bytes, expected: os.stat_result | None, cancelled: threading.Event
) -> os.stat_result:
    # Independent of the target's name, which may already have the maximum length.
    temporary = f".bridle-{os.urandom(8).hex()}.tmp"
    folder = target.folder
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        fd = os.open(temporary, flags, 0o666, dir_fd=folder)
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
            os.replace(temporary, target.name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=folder)
        raise
    return result


def _name_new(temporary: str, target: _Target) -> None:
    """Link a new file to its name; unlike a rename, this never replaces a file created in between."""
    folder = target.folder
    try:
        os.link(temporary, target.name, src_dir_fd=folder, dst_dir_fd=folder)
    except FileExistsError:
        raise ChangedOnDisk from None
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        os.replace(temporary, target.name, src_dir_fd=folder, dst_dir_fd=folder)
        return
    os.unlink(temporary, dir_fd=folder)


def _overwrite(target: _Target, data: bytes, expected: os.stat_result, cancelled: threading.Event) -> os.stat_result:
    with open(target.open(os.O_WRONLY), "wb") as file:
        _check(target, expected, cancelled)
        file.write(data)
        file.truncate()
        file.flush()
        os.fsync(file.fileno())
        return os.fstat(file.fileno())


def _check(target: _Target, expected: os.stat_result | None, cancelled: threading.Event) -> None:
    if cancelled.is_set():
        raise Cancelled
    try:
        now = target.state()
    except FileNotFoundError:
        if expected is not None:
            raise ChangedOnDisk from None
        return
    if expected is None or not is_same_state(now, expected):
        raise ChangedOnDisk


def _copy_metadata(fd: int, target: _Target, expected: os.stat_result) -> None:
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


def _copy_attributes(fd: int, target: _Target) -> None:
    try:
        old = target.open(os.O_RDONLY)
    except (FileNotFoundError, PermissionError):
        return  # the check before the renaming finds a file that is gone
    try:
        for name in os.listxattr(old):
            os.setxattr(fd, name, os.getxattr(old, name))
    except OSError as error:
        if error.errno not in (errno.ENOTSUP, errno.EPERM, errno.EACCES, errno.ENODATA):
            raise
    finally:
        os.close(old)

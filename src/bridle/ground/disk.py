"""Files: atomic and durable writes, exclusive creation, bounded reads.

Every OSError is raised as a DiskError that names the file and a remedy.
"""

from __future__ import annotations

import errno
import os
import stat

from bridle.errors import DiskError, InternalError
from bridle.ground.light import quick_json
from bridle.ground.light.quick_path import Path

# State files have a few kilobytes. A file of this size is not one of them, and would fill the memory.
JSON_LIMIT_BYTES = 64 * 1024 * 1024

# A file before its rename. What a killed writer leaves under such a name can be deleted.
TEMPORARY_PREFIX = ".bridle-"
TEMPORARY_SUFFIX = ".tmp"

READ_ONLY_REMEDY = (
    "The file system is read-only; use another folder."
    " An agent in the sandbox can neither create nor drive runs: start it with --sandbox off for that."
)
_REMEDIES = {
    errno.ENOSPC: "Free some space on that disk and run again.",
    errno.EDQUOT: "Free some space within your disk quota and run again.",
    errno.EFBIG: "Raise the limit on file sizes (ulimit -f) and run again.",
    errno.EROFS: READ_ONLY_REMEDY,
    errno.EACCES: "Check the owner and the permissions of the file and its folder.",
    errno.EPERM: "Check the owner and the permissions of the file and its folder.",
    errno.ENOENT: "Check that the folder exists.",
    errno.ENOTDIR: "A part of the path is a file; move it.",
    errno.EEXIST: "The name is taken; move that file.",
    errno.EIO: "The disk reports an error; check it before running again.",
    errno.EMFILE: "Raise the limit on open files (ulimit -n) and run again.",
    errno.ELOOP: "The path goes through a symbolic link; use the real path.",
}


def write_atomic(path: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Replace a file durably; a reader, also after a crash, finds the old content or the new one."""
    temporary = temporary_name(path.parent)
    with _disk_errors(path, "written"):
        try:
            _write_new(temporary, data, mode)
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        _sync_folder(path.parent)


def replace_cache(path: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Replace a file atomically but not durably: after a power loss it may hold anything."""
    temporary = temporary_name(path.parent)
    with _disk_errors(path, "written"):
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        try:
            try:
                _write_fully(fd, data)
            finally:
                os.close(fd)
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def write_private(path: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Write a file that no other process reads, over one that a killed writer left; not durable."""
    with _disk_errors(path, "written"):
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
        fd = os.open(path, flags, mode)
        try:
            _write_fully(fd, data)
        finally:
            os.close(fd)


def temporary_name(folder: Path) -> Path:
    """Return a new temporary path; its length does not depend on the target's name, which may be of maximum length."""
    return folder / f"{TEMPORARY_PREFIX}{os.urandom(8).hex()}{TEMPORARY_SUFFIX}"


def write_new(path: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Write a new file and sync its content; its folder is not synced."""
    with _disk_errors(path, "written"):
        _write_new(path, data, mode)


def move(path: Path, target: Path) -> None:
    """Rename a file over the target; durable once the target's folder is synced."""
    with _disk_errors(target, "replaced"):
        os.replace(path, target)


def sync_folder(folder: Path) -> None:
    """Sync a folder, so that its entries are durable."""
    with _disk_errors(folder, "synced"):
        _sync_folder(folder)


def create_exclusive(path: Path, *, mode: int = 0o600) -> int:
    """Create a new file and return its descriptor; an existing file or link is an error."""
    with _disk_errors(path, "created"):
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, mode)


def make_private_folder(path: Path) -> Path:
    """Create a folder and its missing parents with mode 0700; an existing one is left as it is."""
    if os.path.isdir(path):
        return path
    with _disk_errors(path, "created"):
        missing, folder = [], os.path.abspath(path)
        while not os.path.exists(folder):
            missing.append(folder)
            folder = os.path.dirname(folder)
        for folder in reversed(missing):
            try:
                os.mkdir(folder, 0o700)
            except FileExistsError:
                pass  # created concurrently; the caller checks that it is a folder
        if not os.path.isdir(path):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
    return path


def make_own_folder(path: Path) -> Path:
    """Create a folder below one that all users may write to, such as /tmp; refuse what another user placed there."""
    check_owner(path)
    make_private_folder(path)
    check_owner(path)  # again: one could be placed before ours was created
    return path


def check_owner(path: Path) -> None:
    """Raise DiskError if a folder of the path could be another user's: a link, a foreign or a shared one."""
    folder = os.path.abspath(path)
    while folder != os.path.dirname(folder):
        above = os.path.dirname(folder)
        try:
            state, is_shared = os.lstat(folder), bool(os.stat(above).st_mode & stat.S_IWOTH)
        except OSError:
            is_shared = False  # it does not exist yet
        if is_shared and (fault := _foreign(state)):
            remedy = "Remove it, or set TMPDIR to a folder of your own."
            raise DiskError(f"{folder} cannot be used: it {fault}", remedy=remedy)
        folder = above


def _foreign(state: os.stat_result) -> str | None:
    if stat.S_ISLNK(state.st_mode):
        return "is a symbolic link in a folder that all users may write to"
    if state.st_uid not in (os.geteuid(), 0):
        return "belongs to another user"
    is_open = state.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not state.st_mode & stat.S_ISVTX
    return "can be written by other users" if is_open else None


def write_all(fd: int, data: bytes) -> None:
    """Write all bytes, in as many calls as it takes."""
    with _disk_errors(fd, "written"):
        _write_fully(fd, data)


def append_line(fd: int, data: bytes, *, durable: bool = False) -> None:
    """Append one line as a whole; a line that did not fit is removed again."""
    line = data if data.endswith(b"\n") else data + b"\n"
    with _disk_errors(fd, "appended to"):
        before = os.fstat(fd)
        try:
            _write_fully(fd, line)
        except OSError:
            # Only the holder of a lock appends, so all after the old end is ours.
            if stat.S_ISREG(before.st_mode):
                os.ftruncate(fd, before.st_size)
            raise
        if durable:
            os.fsync(fd)


def sync(fd: int) -> None:
    with _disk_errors(fd, "synced"):
        os.fsync(fd)


def read_bounded(path: Path | str, limit_bytes: int) -> bytes:
    """Read a regular file; raise DiskError if it has more bytes than the limit."""
    try:
        return _read(path, limit_bytes)
    except OSError as error:
        raise _disk_error(path, "read", error) from error


def read_if_exists(path: Path | str, limit_bytes: int) -> bytes | None:
    """Read a file as `read_bounded` does; return None where it is missing."""
    try:
        return _read(path, limit_bytes)
    except FileNotFoundError:  # many files are optional
        return None
    except OSError as error:
        raise _disk_error(path, "read", error) from error


def read_part(path: Path | str, limit_bytes: int, *, from_end: bool = False, follow_links: bool = True) -> bytes | None:
    """Read at most that many bytes of a regular file, from its beginning or its end.

    Return None for what is missing, cannot be read or is not a regular file: for files that are optional.
    """
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (0 if follow_links else os.O_NOFOLLOW)
    try:
        fd = os.open(path, flags)
        try:
            state = os.fstat(fd)
            if not stat.S_ISREG(state.st_mode):
                return None
            if from_end:
                os.lseek(fd, max(0, state.st_size - limit_bytes), os.SEEK_SET)
            data = b""
            while len(data) < limit_bytes and (part := os.read(fd, limit_bytes - len(data))):
                data += part
            return data
        finally:
            os.close(fd)
    except OSError:
        return None


def open_regular(path: Path | str, *, follow_links: bool = True) -> int:
    """Open a regular file for reading; OSError for anything else, so that a named pipe does not block."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (0 if follow_links else os.O_NOFOLLOW))
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return fd


def read_json(path: Path) -> object | None:
    """Read a JSON file; return None where it is missing."""
    data = read_if_exists(path, JSON_LIMIT_BYTES)
    if data is None:
        return None
    try:
        value = quick_json.loads(data)
    except (ValueError, RecursionError) as error:
        raise DiskError(
            f"{path} is not valid JSON: {error}",
            remedy="Replace it with a good copy, or remove it to start again.",
            payload=data[:4096],
        ) from error
    return value


def write_json_atomic(path: Path, value: object, *, mode: int = 0o600) -> None:
    """Replace a JSON file durably; the document is indented."""
    import json  # late: hooks do not need it

    try:
        text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
        data = text.encode("utf-8")
    except UnicodeEncodeError:
        # A lone surrogate in an agent's text: escaped, the file is valid UTF-8.
        data = json.dumps(value, indent=2, allow_nan=False).encode("ascii")
    except (TypeError, ValueError, RecursionError) as error:
        raise InternalError(f"the value for {path} cannot be encoded as JSON: {error}", payload=value) from error
    write_atomic(path, data + b"\n", mode=mode)


class _disk_errors:  # noqa: N801  # used as a statement; not with contextlib, which is slow to import
    """Context manager that raises an OSError as a DiskError."""

    __slots__ = ("_action", "_target")

    def __init__(self, target: Path | int, action: str) -> None:
        self._target = target
        self._action = action

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError):
            raise _disk_error(self._target, self._action, error) from error


def _disk_error(target: Path | str | int, action: str, error: OSError) -> DiskError:
    name = _name_of(target) if isinstance(target, int) else str(target)
    reason = error.strerror or str(error)
    remedy = _REMEDIES.get(error.errno or 0, "Check the file and the disk it is on.")
    return DiskError(f"{name} could not be {action}: {reason}", remedy=remedy, payload=error.errno)


def _read(path: Path | str, limit_bytes: int) -> bytes:
    # O_NONBLOCK: opening a named pipe without a writer would block.
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        data = _read_regular(fd, path, limit_bytes)
    finally:
        os.close(fd)
    if len(data) > limit_bytes:
        raise DiskError(f"{path} is larger than {limit_bytes} bytes", remedy="Move or shorten it.")
    return data


def _read_regular(fd: int, path: Path | str, limit_bytes: int) -> bytes:
    """Read at most one byte more than the limit. Without a file object: a journal has thousands of files."""
    state = os.fstat(fd)
    if not stat.S_ISREG(state.st_mode):
        raise DiskError(f"{path} is not a regular file", remedy="Move it.")
    data = os.read(fd, min(state.st_size, limit_bytes) + 1)
    if len(data) != state.st_size:  # read in parts, or growing
        parts = [data]
        left = limit_bytes + 1 - len(data)
        while left > 0 and (part := os.read(fd, min(left, JSON_LIMIT_BYTES))):
            parts.append(part)
            left -= len(part)
        data = b"".join(parts)
    return data


def _name_of(fd: int) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{fd}")
    except OSError:
        return f"open file {fd}"


def _write_new(path: Path, data: bytes, mode: int) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        os.fchmod(fd, mode)  # the umask must not restrict the mode
        _write_fully(fd, data)
        os.fsync(fd)
    finally:
        os.close(fd)


def _write_fully(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        written = os.write(fd, view)
        if written == 0:  # no file system should do that; a retry would hang
            raise OSError(errno.EIO, "the system accepted no bytes")
        view = view[written:]


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    except OSError as error:
        # Some network file systems cannot sync a folder; there the rename is as durable as they make it.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(fd)

"""Files that are whole or not there: durable writes, exclusive creation, bounded reads.

Every refusal of the operating system leaves here as a DiskError that names the file and the way out.
"""

from __future__ import annotations

import errno
import os
import stat

from bridle.errors import DiskError, InternalError
from bridle.ground.light.quick_path import Path

# State files are a few kilobytes. One of this size is not ours, and reading it would fill the memory.
JSON_LIMIT_BYTES = 64 * 1024 * 1024

# A file on its way to its place; what a killed writer leaves of this name is nobody's.
TEMPORARY_PREFIX = ".bridle-"
TEMPORARY_SUFFIX = ".tmp"

_REMEDIES = {
    errno.ENOSPC: "Free some space on that disk and run again.",
    errno.EDQUOT: "Free some space within your disk quota and run again.",
    errno.EFBIG: "Raise the limit on file sizes (ulimit -f) and run again.",
    errno.EROFS: "That file system is read-only; use a folder that can be written.",
    errno.EACCES: "Check the owner and the permissions of the file and its folder.",
    errno.EPERM: "Check the owner and the permissions of the file and its folder.",
    errno.ENOENT: "Check that the folder exists.",
    errno.ENOTDIR: "A part of that path is a file; move it out of the way.",
    errno.EEXIST: "Something with that name is already there; move it out of the way.",
    errno.EIO: "The disk reports a fault; check it before running again.",
    errno.EMFILE: "Raise the limit on open files (ulimit -n) and run again.",
    errno.ELOOP: "The path goes through a symbolic link; use the real path.",
}


def write_atomic(path: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Replace the file as a whole: a reader, or a crash, finds the old content or the new one."""
    temporary = temporary_name(path.parent)
    with _telling(path, "written"):
        try:
            _write_new(temporary, data, mode)
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        _sync_folder(path.parent)


def replace_cache(path: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Replace a file that can be made again: whole for every reader, but a power cut may leave anything there."""
    temporary = temporary_name(path.parent)
    with _telling(path, "written"):
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
    """Write a file that nobody else looks at, over what a killed writer may have left there; not durable."""
    with _telling(path, "written"):
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
        fd = os.open(path, flags, mode)
        try:
            _write_fully(fd, data)
        finally:
            os.close(fd)


def temporary_name(folder: Path) -> Path:
    """A name for a file on its way; it does not grow with the target's, which may be as long as names can be."""
    return folder / f"{TEMPORARY_PREFIX}{os.urandom(8).hex()}{TEMPORARY_SUFFIX}"


def write_new(path: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Write a file that is not there yet, and wait until its content has reached the disk (its name may not have)."""
    with _telling(path, "written"):
        _write_new(path, data, mode)


def move(path: Path, target: Path) -> None:
    """Give a file another name, in place of what has that name; durable once the target's folder is synced."""
    with _telling(target, "put in place"):
        os.replace(path, target)


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder have reached the disk."""
    with _telling(folder, "made durable"):
        _sync_folder(folder)


def create_exclusive(path: Path, *, mode: int = 0o600) -> int:
    """Create a file that is not there yet and return its descriptor; a link in its place is refused."""
    with _telling(path, "created"):
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, mode)


def make_private_folder(path: Path) -> Path:
    """Make the folder, and those above it that are missing, for this user alone; one that is there stays."""
    if os.path.isdir(path):
        return path
    with _telling(path, "made"):
        missing, folder = [], os.path.abspath(path)
        while not os.path.exists(folder):
            missing.append(folder)
            folder = os.path.dirname(folder)
        for folder in reversed(missing):
            _make_folder(folder)
        if not os.path.isdir(path):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
    return path


def write_all(fd: int, data: bytes) -> None:
    """Write every byte, however many calls the kernel makes of it."""
    with _telling(fd, "written"):
        _write_fully(fd, data)


def append_line(fd: int, data: bytes, *, durable: bool = False) -> None:
    """Append one line, or nothing: a line that did not fit as a whole is taken back."""
    line = data if data.endswith(b"\n") else data + b"\n"
    with _telling(fd, "appended to"):
        before = os.fstat(fd)
        try:
            _write_fully(fd, line)
        except OSError:
            # Only the holder of a lock appends, so what stands after the old end is ours.
            if stat.S_ISREG(before.st_mode):
                os.ftruncate(fd, before.st_size)
            raise
        if durable:
            os.fsync(fd)


def sync(fd: int) -> None:
    """Wait until what was written has reached the disk."""
    with _telling(fd, "made durable"):
        os.fsync(fd)


def read_bounded(path: Path | str, limit_bytes: int) -> bytes:
    """Read a regular file that may have at most that many bytes."""
    try:
        # O_NONBLOCK: opening a named pipe that nobody writes to would wait for ever.
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            data = _read_regular(fd, path, limit_bytes)
        finally:
            os.close(fd)
    except OSError as error:
        raise _refusal(path, "read", error) from error
    if len(data) > limit_bytes:
        raise DiskError(f"{path} is larger than {limit_bytes} bytes", remedy="Move it away; it is not ours.")
    return data


def read_if_exists(path: Path | str, limit_bytes: int) -> bytes | None:
    """Read a file as `read_bounded` does; return None where it is missing."""
    try:
        return read_bounded(path, limit_bytes)
    except DiskError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return None
        raise


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


def read_json(path: Path) -> object | None:
    """Read a JSON file; return None where it is missing."""
    data = read_if_exists(path, JSON_LIMIT_BYTES)
    if data is None:
        return None
    import json  # late, as below: hooks write state files and read none of these

    try:
        value: object = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise DiskError(
            f"{path} is not valid JSON: {error}",
            remedy="Replace it with a good copy, or remove it to start anew.",
            payload=data[:4096],
        ) from error
    return value


def write_json_atomic(path: Path, value: object, *, mode: int = 0o600) -> None:
    """Replace a JSON file as a whole, laid out for people to read."""
    import json

    try:
        text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
        data = text.encode("utf-8")
    except UnicodeEncodeError:
        # A lone surrogate came in with an agent's text; escaped it survives and the file stays UTF-8.
        data = json.dumps(value, indent=2, allow_nan=False).encode("ascii")
    except (TypeError, ValueError, RecursionError) as error:
        raise InternalError(f"what should go into {path} is not JSON: {error}", payload=value) from error
    write_atomic(path, data + b"\n", mode=mode)


class _telling:  # noqa: N801  # used as a statement; written out, as contextlib takes longer to import than to use
    """What the operating system refuses in here leaves as a DiskError."""

    __slots__ = ("_deed", "_target")

    def __init__(self, target: Path | int, deed: str) -> None:
        self._target = target
        self._deed = deed

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError):
            raise _refusal(self._target, self._deed, error) from error


def _make_folder(folder: str) -> None:
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        pass  # somebody else was faster; whether it is a folder is looked at below


def _refusal(target: Path | str | int, deed: str, error: OSError) -> DiskError:
    place = _name_of(target) if isinstance(target, int) else str(target)
    reason = error.strerror or str(error)
    remedy = _REMEDIES.get(error.errno or 0, "Check the file and the disk it is on.")
    return DiskError(f"{place} could not be {deed}: {reason}", remedy=remedy, payload=error.errno)


def _read_regular(fd: int, path: Path | str, limit_bytes: int) -> bytes:
    """At most one byte more than the limit; a journal's twenty thousand files are read here, so no file object."""
    found = os.fstat(fd)
    if not stat.S_ISREG(found.st_mode):
        raise DiskError(f"{path} is not a regular file", remedy="Move it out of the way.")
    data = os.read(fd, min(found.st_size, limit_bytes) + 1)
    if len(data) < found.st_size or len(data) > found.st_size:  # read in parts, or growing under our eyes
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
        os.fchmod(fd, mode)  # the mask of the process must not take anything away from the asked mode
        _write_fully(fd, data)
        os.fsync(fd)
    finally:
        os.close(fd)


def _write_fully(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        written = os.write(fd, view)
        if written == 0:  # no file system should, and asking again for ever would hang the run
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

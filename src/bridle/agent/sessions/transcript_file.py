"""The file of a transcript: one writer, and every batch on the disk before anything that follows from it is told."""

from __future__ import annotations

import errno
import fcntl
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path

from bridle.errors import DiskError, UsageError
from bridle.ground import disk

# A copied conversation is written in parts of about this size: memory stays flat, and calls few.
_PART_BYTES = 1024 * 1024

# What file systems say that cannot give a file a second name.
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK)


def hold(fd: int) -> bool:
    """Take a transcript for this process alone; False where another one has it. It is let go when `fd` is closed."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # a file system without locks: there nobody can tell, and the work goes on
    return True


class TranscriptFile:
    """Takes bytes and makes them durable. The file is made with the first of them, as a whole.

    `add` belongs to one thread; `drain` may be called from any, and writes in the order of `add`.
    """

    def __init__(
        self, path: Path | None, *, fd: int | None = None, head: Callable[[], Iterable[bytes]] | None = None
    ) -> None:
        self.path = path
        """Where it is; None keeps nothing."""
        self._fd = fd
        self._head = head
        self._gap = b"" if fd is None else _gap(fd)
        self._waiting: deque[bytes] = deque()
        self._writing = threading.Lock()

    @property
    def is_behind(self) -> bool:
        """Whether something waits to be written."""
        return bool(self._waiting)

    def add(self, data: bytes) -> None:
        """Take whole lines."""
        if self.path is not None:
            self._waiting.append(data)

    def drain(self) -> None:
        """Write what waits, in one piece; what could not be written waits on."""
        with self._writing:
            parts: list[bytes] = []
            while self._waiting:
                parts.append(self._waiting.popleft())
            if not parts or self.path is None:
                return
            data = b"".join(parts)
            try:
                self._write(self.path, data)
            except BaseException:
                self._waiting.appendleft(data)
                raise

    def close(self) -> None:
        """Let the file go; doing it twice is fine."""
        with self._writing:
            fd, self._fd, self.path = self._fd, None, None
            if fd is not None:
                os.close(fd)

    def _write(self, path: Path, data: bytes) -> None:
        if self._fd is None:
            self._fd = self._create(path, data)
        else:
            disk.append_line(self._fd, self._gap + data, durable=True)
            self._gap = b""

    def _create(self, path: Path, data: bytes) -> int:
        """Begin the file with everything in it: it is there as a whole, or not at all."""
        above = _missing(path.parent)
        folder = disk.make_private_folder(path.parent)
        temporary = folder / f".{path.stem}-{os.urandom(4).hex()}.tmp"
        fd = disk.create_exclusive(temporary)
        try:
            hold(fd)
            for part in _parts(self._head() if self._head is not None else ()):
                disk.write_all(fd, part)
            disk.append_line(fd, data, durable=True)
            _publish(temporary, path)
        except BaseException:
            os.close(fd)
            raise
        finally:
            temporary.unlink(missing_ok=True)
        for each in (folder, *above):
            _sync_folder(each)
        return fd


def _parts(lines: Iterable[bytes]) -> Iterable[bytes]:
    """Lines, put together so that each write is worth its call."""
    parts: list[bytes] = []
    size = 0
    for line in lines:
        parts.append(line)
        size += len(line)
        if size >= _PART_BYTES:
            yield b"".join(parts)
            parts, size = [], 0
    yield b"".join(parts)


def _missing(folder: Path) -> list[Path]:
    """The folders that will hold the new ones on the way to a folder: their entries must be made durable too."""
    return [above.parent for above in (folder, *folder.parents) if not above.exists()]


def _publish(temporary: Path, path: Path) -> None:
    """Give the file its name, which nobody else may have taken."""
    try:
        try:
            os.link(temporary, path)
        except OSError as error:
            if error.errno not in _NO_LINKS or path.exists():
                raise
            os.rename(temporary, path)  # a file system without links: there this is all that can be done
    except FileExistsError as error:
        raise UsageError(f"Error: Session ID {path.stem} is already in use.") from error
    except OSError as error:
        raise DiskError(
            f"the transcript {path} could not be made: {error.strerror}",
            remedy="Check the permissions and the space there, or run with --no-session-persistence.",
            payload=error.errno,
        ) from error


def _gap(fd: int) -> bytes:
    """The end of a line that a crash has torn, so that the next one begins anew."""
    size = os.fstat(fd).st_size
    return b"" if size == 0 or os.pread(fd, 1, size - 1) == b"\n" else b"\n"


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        disk.sync(fd)
    except DiskError as error:
        # Some network file systems cannot sync a folder; there a new name is as durable as they make it.
        if error.payload not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(fd)

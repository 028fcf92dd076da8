"""The file of a transcript: one writer, and every batch synced before anything depends on it."""

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

# A forked conversation is written in parts of about this size: little memory, few system calls.
_PART_BYTES = 1024 * 1024

# The errors of file systems without hard links.
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK)


def lock(fd: int) -> bool:
    """Lock a transcript until `fd` is closed; return False if another process holds the lock."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # a file system without locks: continue without one
    return True


class TranscriptFile:
    """Queues lines and writes them durably. The file is created atomically with the first lines.

    `add` belongs to one thread; `drain` may be called from any, and writes in the order of `add`.
    """

    def __init__(
        self, path: Path | None, *, fd: int | None = None, head: Callable[[], Iterable[bytes]] | None = None
    ) -> None:
        self.path = path
        """None discards all lines."""
        self.on_written: Callable[[Path, bytes], None] | None = None
        """Called with the lines that were written."""
        self._fd = fd
        self._head = head
        self._missing_line_end = b"" if fd is None else _missing_line_end(fd)
        self._waiting: deque[bytes] = deque()
        self._writing = threading.Lock()

    @property
    def is_behind(self) -> bool:
        """Whether lines are queued."""
        return bool(self._waiting)

    def add(self, data: bytes) -> None:
        """Queue complete lines."""
        if self.path is not None:
            self._waiting.append(data)

    def drain(self) -> None:
        """Write the queued lines in one batch; on an error they stay queued."""
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
            if self.on_written is not None:
                self.on_written(self.path, data)

    def close(self) -> None:
        """Close the file; may be called twice."""
        with self._writing:
            fd, self._fd, self.path = self._fd, None, None
            if fd is not None:
                os.close(fd)

    def _write(self, path: Path, data: bytes) -> None:
        if self._fd is None:
            self._fd = self._create(path, data)
        else:
            disk.append_line(self._fd, self._missing_line_end + data, durable=True)
            self._missing_line_end = b""

    def _create(self, path: Path, data: bytes) -> int:
        """Create the file with its first lines, atomically."""
        above = _missing(path.parent)
        folder = disk.make_private_folder(path.parent)
        temporary = folder / f".{path.stem}-{os.urandom(4).hex()}.tmp"
        fd = disk.create_exclusive(temporary)
        try:
            lock(fd)
            for part in _parts(self._head() if self._head is not None else ()):
                disk.write_all(fd, part)
                if self.on_written is not None:
                    self.on_written(path, part)
            disk.append_line(fd, data, durable=True)
            _publish(temporary, path)
        except BaseException:
            os.close(fd)
            raise
        finally:
            temporary.unlink(missing_ok=True)
        for new_folder in (folder, *above):
            _sync_folder(new_folder)
        return fd


def _parts(lines: Iterable[bytes]) -> Iterable[bytes]:
    """Join lines to parts of a useful size."""
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
    """Return the parents of folders that do not exist yet: their new entries must be synced too."""
    return [above.parent for above in (folder, *folder.parents) if not above.exists()]


def _publish(temporary: Path, path: Path) -> None:
    """Give the file its name; raise UsageError if the name is taken."""
    try:
        try:
            os.link(temporary, path)
        except OSError as error:
            if error.errno not in _NO_LINKS or path.exists():
                raise
            os.rename(temporary, path)  # a file system without links: the best that it can do
    except FileExistsError as error:
        raise UsageError(f"Error: Session ID {path.stem} is already in use.") from error
    except OSError as error:
        raise DiskError(
            f"cannot create the transcript {path}: {error.strerror}",
            remedy="Check permissions and free space there, or use --no-session-persistence.",
            payload=error.errno,
        ) from error


def _missing_line_end(fd: int) -> bytes:
    """Return the line end that is missing after a crash, or nothing."""
    size = os.fstat(fd).st_size
    return b"" if size == 0 or os.pread(fd, 1, size - 1) == b"\n" else b"\n"


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        disk.sync(fd)
    except DiskError as error:
        # Some network file systems cannot sync a folder.
        if error.payload not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(fd)

"""Records which state of each file the model has read or written.

An edit is safe if the file is still in that state.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import msgspec


class View(msgspec.Struct, frozen=True):
    """The part of a file that a Read call requested; None means not specified."""

    offset: int | None = None
    limit: int | None = None


class KnownFile(msgspec.Struct, frozen=True):
    """The state of a file that the model knows."""

    path: str
    """Absolute, with symbolic links resolved, as all paths here."""
    mtime_ns: int
    size: int
    digest: str
    """Of the bytes; empty if only a part was read."""
    partial: bool = False
    view: View | None = None
    """The part that Read returned; None if the model wrote the file."""


class FileMemory:
    """The known state of each file. Used from worker threads; each method is atomic."""

    def __init__(self) -> None:
        self.before_change: Callable[[Path], None] = lambda _path: None
        """Called with each file before a tool writes it; an OSError that it raises fails the call."""
        self._known: dict[str, KnownFile] = {}
        self._locks: dict[str, threading.Lock] = {}
        self._read: list[str] = []

    def remember(self, entry: KnownFile) -> None:
        """Record the state of a file, replacing the previous one."""
        self._known[entry.path] = entry
        if entry.view is not None:
            self._read.append(entry.path)

    def take_read(self) -> list[str]:
        """Return the files that Read returned since the last call."""
        read, self._read = self._read, []
        return read

    def forget_views(self) -> None:
        """Forget what Read has returned, as a summary replaced it; files can be read again, and still be edited."""
        for path, entry in list(self._known.items()):
            self._known[path] = msgspec.structs.replace(entry, view=None)

    def find(self, path: Path) -> KnownFile | None:
        """Return the known state of the file."""
        return self._known.get(str(path))

    def lock(self, path: Path) -> threading.Lock:
        """Return the lock of a file; the calls of a turn run concurrently."""
        return self._locks.setdefault(str(path), threading.Lock())


def file_digest(data: bytes) -> str:
    """Return the digest of a file's bytes."""
    from hashlib import blake2b  # late: needed by the first read

    return blake2b(data, digest_size=16).hexdigest()

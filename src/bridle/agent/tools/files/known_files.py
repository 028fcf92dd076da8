"""What the model knows of the files: which state of each it has read or written, and which part it was shown.

An edit is safe when the file is still in the state that the model knows.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from pathlib import Path

import msgspec


class View(msgspec.Struct, frozen=True):
    """Which part of a file a call of Read asked for; None means that nothing was said."""

    offset: int | None = None
    limit: int | None = None


class KnownFile(msgspec.Struct, frozen=True):
    """One state of one file that the model knows."""

    path: str
    """Absolute, with links resolved: two names of one file are one file."""
    mtime_ns: int
    size: int
    digest: str
    """Of the bytes; empty when only a part was looked at."""
    partial: bool = False
    view: View | None = None
    """What Read was asked for; None when the model knows the state because it wrote it."""


class FileMemory:
    """What the model knows, by file. Used from worker threads; each method is one step."""

    def __init__(self, known: Iterable[KnownFile] = ()) -> None:
        self._known = {entry.path: entry for entry in known}
        self._locks: dict[str, threading.Lock] = {}

    def remember(self, entry: KnownFile) -> None:
        """The model knows this state from now on; what it knew of the file before is gone."""
        self._known[entry.path] = entry

    def of(self, path: Path) -> KnownFile | None:
        """What the model knows of the file."""
        return self._known.get(canonical_path(path))

    def forget(self, path: Path) -> None:
        """The model knows nothing of the file any more."""
        self._known.pop(canonical_path(path), None)

    def entries(self) -> tuple[KnownFile, ...]:
        """Everything, oldest first; a new memory can be made of it."""
        return tuple(self._known.values())

    def alone(self, path: Path) -> threading.Lock:
        """The lock under which one file is checked and changed: calls of a turn run side by side."""
        return self._locks.setdefault(canonical_path(path), threading.Lock())


def canonical_path(path: Path) -> str:
    """The one name of a file."""
    return os.path.realpath(path)


def file_digest(data: bytes) -> str:
    """The digest of a file's bytes."""
    from hashlib import blake2b  # late: most runs read no file

    return blake2b(data, digest_size=16).hexdigest()

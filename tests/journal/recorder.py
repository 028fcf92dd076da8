"""What a program does to the disk, seen at the edge of the operating system.

`watch` puts itself in the place of the functions of `os` that change files, for as long as it lasts. Each change is
shown to a listener before it is made and noted after it was. That nothing slips past is proved by the tests that
compare a disk rebuilt from the notes with the real one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

Listener = Callable[["Change"], None]


@dataclass(frozen=True)
class Change:
    """One change to the disk, or one wait for it."""

    deed: str
    """create, write, truncate, sync, rename, unlink, mkdir, utime"""
    path: str
    target: str = ""
    """The new name of a rename."""
    data: bytes = b""
    number: int = 0
    """The offset of a write, the length of a truncation, the moment of a utime."""

    def __str__(self) -> str:
        return f"{self.deed} {self.path}" + (f" -> {self.target}" if self.target else "")


@contextmanager
def watch(listener: Listener) -> Iterator[list[Change]]:
    """Show every change to the listener before it is made; gives the list of those that were."""
    made: list[Change] = []
    watched = _Watched(listener, made)
    real = {name: getattr(os, name) for name in watched.functions()}
    try:
        for name, function in watched.functions().items():
            setattr(os, name, function)
        yield made
    finally:
        for name, function in real.items():
            setattr(os, name, function)


class _Watched:
    def __init__(self, listener: Listener, made: list[Change]) -> None:
        self._listener = listener
        self._made = made
        self._paths: dict[int, str] = {}
        self._appending: set[int] = set()
        self._os = {name: getattr(os, name) for name in self._names()}

    @staticmethod
    def _names() -> tuple[str, ...]:
        return (
            *("open", "close", "write", "ftruncate", "fsync", "replace", "rename", "unlink"),
            *("remove", "mkdir", "utime", "lseek"),
        )

    def functions(self) -> dict[str, Callable[..., Any]]:
        return {name: getattr(self, f"_{name}") for name in self._names() if name != "lseek"}

    def _do(self, change: Change, function: str, *arguments: Any, **options: Any) -> Any:
        self._listener(change)
        result = self._os[function](*arguments, **options)
        self._made.append(change)
        return result

    def _open(self, path: Any, flags: int, *arguments: Any, **options: Any) -> int:
        name = os.fspath(path)
        is_new = bool(flags & os.O_CREAT) and not os.path.lexists(name)
        if is_new:
            fd = self._do(Change("create", name), "open", path, flags, *arguments, **options)
        else:
            fd = self._os["open"](path, flags, *arguments, **options)
        self._paths[fd] = name
        if flags & os.O_APPEND:
            self._appending.add(fd)
        return int(fd)

    def _close(self, fd: int) -> None:
        self._paths.pop(fd, None)
        self._appending.discard(fd)
        self._os["close"](fd)

    def _write(self, fd: int, data: Any) -> int:
        path = self._paths.get(fd)
        if path is None:
            return int(self._os["write"](fd, data))
        at_end = fd in self._appending
        offset = os.fstat(fd).st_size if at_end else self._os["lseek"](fd, 0, os.SEEK_CUR)
        return int(self._do(Change("write", path, data=bytes(data), number=offset), "write", fd, data))

    def _ftruncate(self, fd: int, length: int) -> None:
        self._do(Change("truncate", self._paths[fd], number=length), "ftruncate", fd, length)

    def _fsync(self, fd: int) -> None:
        self._do(Change("sync", self._paths[fd]), "fsync", fd)

    def _replace(self, source: Any, target: Any) -> None:
        self._do(Change("rename", os.fspath(source), os.fspath(target)), "replace", source, target)

    def _rename(self, source: Any, target: Any) -> None:
        self._do(Change("rename", os.fspath(source), os.fspath(target)), "rename", source, target)

    def _unlink(self, path: Any, **options: Any) -> None:
        if os.path.lexists(path):
            self._do(Change("unlink", os.fspath(path)), "unlink", path, **options)
        else:
            self._os["unlink"](path, **options)

    _remove = _unlink

    def _mkdir(self, path: Any, *arguments: Any, **options: Any) -> None:
        self._do(Change("mkdir", os.fspath(path)), "mkdir", path, *arguments, **options)

    def _utime(self, path: Any, *arguments: Any, **options: Any) -> None:
        moment = options["ns"][1]
        self._do(Change("utime", os.fspath(path), number=moment), "utime", path, *arguments, **options)

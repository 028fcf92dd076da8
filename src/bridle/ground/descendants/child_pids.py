"""The processes below a process, by number. The keeper imports it: the standard library only, and little of it."""

from __future__ import annotations

import os
from collections.abc import Iterator


def descendants(pid: int) -> Iterator[int]:
    """List the descendants of a process, the nearest first."""
    todo = [pid]
    while todo:
        found = children(todo.pop())
        yield from found
        todo += found


def children(pid: int) -> list[int]:
    """List the children of a process; none of one that has ended."""
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            found += map(int, _read(f"/proc/{pid}/task/{thread}/children").split())
    except (OSError, ValueError):
        return found if found or pid != os.getpid() else _children_by_stat(pid)
    return found


def read_all(fd: int) -> bytes:
    """Read a descriptor to its end."""
    data = b""
    while part := os.read(fd, 65536):
        data += part
    return data


def _children_by_stat(pid: int) -> list[int]:
    """List the children of a process where the kernel has no list of them."""
    found: list[int] = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            fields = _read(f"/proc/{name}/stat").rpartition(b") ")[2].split()
        except OSError:
            continue
        if fields and int(fields[1]) == pid:
            found.append(int(name))
    return found


def _read(path: str) -> bytes:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return read_all(fd)
    finally:
        os.close(fd)

"""List all processes of this machine.

Standard library only on Linux: the keeper runs this file in a Python without installed packages.
"""

from __future__ import annotations

import os
import sys
from typing import NamedTuple

from bridle.ground.descendants.proc_files import (
    NAME,
    PARENT,
    TOKEN_SEPARATOR,
    TOKEN_VARIABLE,
    read_stat,
    read_tokens,
    split_tokens,
)

__all__ = ["TOKEN_SEPARATOR", "TOKEN_VARIABLE", "Census", "Entry", "find_process", "is_alive", "take"]

# PF_KTHREAD in the kernel's include/linux/sched.h: a thread of the kernel, with no environment.
_KERNEL_THREAD = 0x00200000

# Further fields of a file `stat` in /proc, counted from the name.
_STATE, _FLAGS, _THREADS, _CREATED = 1, 7, 18, 20


class Entry(NamedTuple):
    """One process. `create_time` only distinguishes it from a later process with the same pid."""

    pid: int
    parent: int
    create_time: float
    name: str
    is_alive: bool
    tokens: tuple[str, ...]


class Census(dict[int, Entry]):
    """The processes by pid."""

    def __init__(self) -> None:
        super().__init__()
        self.has_missed = True
        """Whether a process ended before it was read: it may have started another that is not listed."""
        self.unread: frozenset[int] = frozenset()
        """Living processes without a readable environment, as during an exec."""


def take(*, since: float = 0.0) -> Census:
    """List the processes that were created at `since` or later, perhaps others too; concurrent callers share a census.

    What a child left is never older than the child, and most processes of a machine are: half of the work is saved.
    """
    from bridle.ground.descendants.shared_census import SHARED  # late: most that look for one process take no census

    found: Census = SHARED.take(since, _take)
    return found


def find_process(pid: int) -> Entry | None:
    """Return one process, without its tokens; None if no such process exists."""
    if not _HAS_PROC:
        return _find_portably(pid)
    stat = read_stat(pid)
    return None if stat is None else _entry(pid, stat)


def is_alive(pid: int) -> bool:
    """Return whether a process of this id runs; one that has ended and was not reaped does not."""
    entry = find_process(pid)
    return entry is not None and entry.is_alive


_HAS_PROC = sys.platform == "linux"


def _take(since: float) -> Census:
    return _take_from_proc(since) if _HAS_PROC else _take_portably()


def _take_from_proc(since: float) -> Census:
    user = os.geteuid()
    entries = Census()
    has_missed = False
    unread: list[int] = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        stat = read_stat(name)
        if stat is None:
            has_missed = True
            continue
        if float(stat[_CREATED]) < since:
            continue
        entry = _entry(int(name), stat)
        # Environments of other users cannot be read, except by root, whose agents may have changed their user.
        if entry.is_alive and not int(stat[_FLAGS]) & _KERNEL_THREAD and (user == 0 or _owner(name) == user):
            tokens = read_tokens(entry.pid)
            if tokens is None:
                unread.append(entry.pid)
            elif tokens:
                entry = Entry(entry.pid, entry.parent, entry.create_time, entry.name, entry.is_alive, tokens)
        entries[entry.pid] = entry
    entries.has_missed, entries.unread = has_missed, frozenset(unread)
    return entries


def _entry(pid: int, stat: list[bytes]) -> Entry:
    """Return a process without its tokens."""
    # A process whose main thread has ended looks like a zombie while its other threads run.
    is_alive = stat[_STATE] not in (b"Z", b"X") or int(stat[_THREADS]) > 1
    name = stat[NAME].decode("utf-8", "replace")
    return Entry(pid, int(stat[PARENT]), float(stat[_CREATED]), name, is_alive, ())


def _owner(pid: str) -> int | None:
    """Return the user of a process; None where it has ended."""
    try:
        return os.stat(f"/proc/{pid}").st_uid
    except OSError:
        return None


def _take_portably() -> Census:
    import psutil

    user = os.geteuid()
    entries = Census()
    for process in psutil.process_iter():
        entry = _portable_entry(process)
        if entry is None:
            continue
        try:
            if entry.is_alive and process.uids().effective == user:
                value = process.environ().get(TOKEN_VARIABLE)
                if value:
                    fields = (entry.pid, entry.parent, entry.create_time, entry.name, entry.is_alive)
                    entry = Entry(*fields, split_tokens(value))
        except (psutil.Error, OSError):
            pass  # ended, or its environment is hidden: it may still be found by its parents
        entries[entry.pid] = entry
    return entries


def _find_portably(pid: int) -> Entry | None:
    import psutil

    try:
        return _portable_entry(psutil.Process(pid))
    except psutil.Error:
        return None


def _portable_entry(process: object) -> Entry | None:
    import psutil

    assert isinstance(process, psutil.Process)  # noqa: S101  # for the type checker; psutil is imported late
    try:
        with process.oneshot():
            is_alive = process.status() != psutil.STATUS_ZOMBIE
            created = process.create_time()
            return Entry(process.pid, process.ppid() or 0, created, process.name(), is_alive, ())
    except psutil.Error:
        return None

"""Every process of this machine, as seen at one moment.

Standard library only on Linux: the keeper runs this file in a Python without installed packages.
"""

from __future__ import annotations

import os
import sys
import threading
from dataclasses import dataclass

# Carried by every agent and inherited by what it starts. A run inside a run appends its own token after a
# colon, so that the outer run still recognises what the inner one started.
TOKEN_VARIABLE = "BRIDLE_RUN_TOKEN"  # noqa: S105  # a name, not a secret

TOKEN_SEPARATOR = ":"  # noqa: S105  # a colon, not a secret

_MARK = TOKEN_VARIABLE.encode() + b"="

# PF_KTHREAD in the kernel's include/linux/sched.h: a thread of the kernel, with no environment.
_KERNEL_THREAD = 0x00200000

# One read takes the whole environment of nearly every process; larger ones take more reads.
_READ_BYTES = 128 * 1024


@dataclass(frozen=True, slots=True)
class Entry:
    """One process. `create_time` tells it from a later process with the same pid and means nothing else."""

    pid: int
    parent: int
    create_time: float
    name: str
    is_alive: bool
    tokens: tuple[str, ...]


class Census(dict[int, Entry]):
    """The processes by their numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.has_missed = True
        """Whether a process ended between being listed and being looked at: it may have started another unseen."""
        self.unread: frozenset[int] = frozenset()
        """Those that live but show no environment, as for a moment during an exec."""


def take() -> Census:
    """Look at every process now; callers that ask at the same time share one look."""
    return _desk.take()


def look(pid: int) -> Entry | None:
    """Look at one process, without its tokens; None when there is none."""
    if not _HAS_PROC:
        return _look_portably(pid)
    found = _read_stat(pid)
    return found and found[0]


class _Desk:
    """Answers many askers with few censuses: each gets one that began after it had asked.

    A hundred agents that end together would otherwise each read the whole of /proc, several times.
    """

    def __init__(self) -> None:
        self._turn = threading.Condition()
        self._begun = 0
        self._done = 0
        self._is_busy = False
        self._latest = Census()

    def take(self) -> Census:
        with self._turn:
            wanted = self._begun + 1
            while self._is_busy and self._done < wanted:
                self._turn.wait()
            if self._done >= wanted:
                return self._latest
            self._is_busy = True
            self._begun = number = self._begun + 1
        try:
            latest = _take_from_proc() if _HAS_PROC else _take_portably()
        except BaseException:
            self._leave(None, number)
            raise
        self._leave(latest, number)
        return latest

    def _leave(self, latest: Census | None, number: int) -> None:
        with self._turn:
            self._is_busy = False
            if latest is not None:
                self._latest, self._done = latest, number
            self._turn.notify_all()


_HAS_PROC = sys.platform == "linux"
_desk = _Desk()


def _take_from_proc() -> Census:
    user = os.geteuid()
    entries = Census()
    has_missed = False
    unread: list[int] = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        found = _read_stat(int(name))
        if found is None:
            has_missed = True
            continue
        entry, owner, has_environment = found
        # Others' environments cannot be read, except by root, whose agents may have changed their user.
        if has_environment and (owner == user or user == 0):
            tokens = _read_tokens(entry.pid)
            if tokens is None:
                unread.append(entry.pid)
            elif tokens:
                entry = Entry(entry.pid, entry.parent, entry.create_time, entry.name, entry.is_alive, tokens)
        entries[entry.pid] = entry
    entries.has_missed, entries.unread = has_missed, frozenset(unread)
    return entries


def _read_stat(pid: int) -> tuple[Entry, int, bool] | None:
    """Return the process, its user, and whether it can have an environment."""
    try:
        fd = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        owner = os.fstat(fd).st_uid
        text = os.read(fd, 4096)
    except OSError:  # it ended between opening and reading
        return None
    finally:
        os.close(fd)
    # The name stands in parentheses and may itself hold spaces and parentheses.
    head, _, tail = text.rpartition(b") ")
    fields = tail.split()
    state, parent, flags, threads, created = fields[0], fields[1], fields[6], fields[17], fields[19]
    # A process whose first thread has ended looks like a zombie while its other threads go on.
    is_alive = state not in (b"Z", b"X") or int(threads) > 1
    name = head.partition(b" (")[2].decode("utf-8", "replace")
    entry = Entry(pid, int(parent), float(created), name, is_alive, ())
    return entry, owner, is_alive and not int(flags) & _KERNEL_THREAD


def _read_tokens(pid: int) -> tuple[str, ...] | None:
    """The tokens in its environment; None where that is empty or cannot be read."""
    try:
        fd = os.open(f"/proc/{pid}/environ", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        environment = b"\0"
        while part := os.read(fd, _READ_BYTES):
            environment += part
    except OSError:
        return None
    finally:
        os.close(fd)
    if environment == b"\0":
        return None
    _, found, rest = environment.partition(b"\0" + _MARK)
    return _split(rest.partition(b"\0")[0].decode("ascii", "replace")) if found else ()


def _split(value: str) -> tuple[str, ...]:
    return tuple(value.split(TOKEN_SEPARATOR))


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
                    entry = Entry(*fields, _split(value))
        except (psutil.Error, OSError):
            pass  # it ended, or hides its environment: the tree may still lead to it
        entries[entry.pid] = entry
    return entries


def _look_portably(pid: int) -> Entry | None:
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

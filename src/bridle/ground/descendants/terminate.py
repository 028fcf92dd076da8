"""Find and end everything that a run has started: its process tree, and all processes with the run's token.

The tree is not enough: a daemon leaves it. The token is not enough: a program may be started with an empty environment.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from bridle.errors import ProcessError
from bridle.ground.descendants import census
from bridle.ground.descendants.census import TOKEN_VARIABLE, Census, Entry

__all__ = [
    "TOKEN_VARIABLE",
    "ProcessRef",
    "end_all",
    "end_many",
    "find",
    "is_conclusive",
    "select",
    "signal_all",
    "wait_gone",
]

# A process that forks during a sweep can be missed. This many end a busy build, and give up within seconds on
# something that forks faster than it can be killed.
SWEEP_LIMIT = 50

# One empty sweep is not always proof: see `is_conclusive`.
EMPTY_SWEEPS = 2

# Long enough for an exec, short enough for the end of each run.
SWEEP_PAUSE_SECONDS = 0.01

# After SIGKILL a process ends in microseconds unless the kernel holds it; this is for a loaded machine.
# With SWEEP_LIMIT it bounds the wait for a process that cannot die.
KILL_WAIT_SECONDS = 0.2

# The interval at which a signalled process is checked.
POLL_SECONDS = 0.01


class ProcessRef(NamedTuple):
    """A process; `create_time` distinguishes it from a later one with the same pid."""

    pid: int
    create_time: float
    name: str


def find(token: str, root_pid: int | None, *, known: Collection[ProcessRef] = ()) -> list[ProcessRef]:
    """Return the living processes of a run: those with its token, its root, the `known` ones, and their descendants.

    `root_pid` must be a child that has not been reaped, so that its pid is not reused.
    """
    roots = () if root_pid is None else (root_pid,)
    since = _earliest((token,), [census.find_process(pid) for pid in roots])
    return select(census.take(since=since), {token}, roots=roots, known=known, ourselves=os.getpid())


def select(
    entries: Mapping[int, Entry],
    tokens: Collection[str],
    *,
    roots: Iterable[int],
    known: Collection[ProcessRef],
    ourselves: int,
) -> list[ProcessRef]:
    """Select the processes of the tokens from a census; never `ourselves` or an ancestor. Pure."""
    spared = _ancestors_of(entries, ourselves)
    wanted = frozenset(tokens)
    todo = [entry.pid for entry in entries.values() if not wanted.isdisjoint(entry.tokens)]
    todo += [pid for pid in roots if pid in entries]
    todo += [process.pid for process in known if _is_same(entries.get(process.pid), process)]
    children: dict[int, list[int]] = {}
    for entry in entries.values():
        children.setdefault(entry.parent, []).append(entry.pid)
    chosen: dict[int, ProcessRef] = {}
    seen: set[int] = set()
    while todo:
        pid = todo.pop()
        if pid in seen or pid in spared:
            continue
        seen.add(pid)
        todo += children.get(pid, ())
        entry = entries[pid]
        if entry.is_alive:
            chosen[pid] = ProcessRef(pid, entry.create_time, entry.name)
    return list(chosen.values())


def signal_all(processes: Iterable[ProcessRef], sig: signal.Signals) -> None:
    """Send a signal to the processes that still exist."""
    for process in processes:
        try:
            _signal(process, sig)
        except (ProcessLookupError, PermissionError):
            pass  # ended; or without permission, and then end_all reports it


def end_all(
    token: str, root_pid: int | None, *, grace_seconds: float, known: Collection[ProcessRef] = ()
) -> list[ProcessRef]:
    """End all processes of a run and return them; see `find` for the arguments.

    SIGTERM first, SIGKILL after the grace. ProcessError names those that survive.
    """
    roots = () if root_pid is None else (root_pid,)
    return end_many((token,), roots=roots, grace_seconds=grace_seconds, known=known)


def end_many(
    tokens: Collection[str],
    *,
    roots: Collection[int] = (),
    grace_seconds: float,
    known: Collection[ProcessRef] = (),
) -> list[ProcessRef]:
    """End all processes of several runs."""
    deadline = time.monotonic() + grace_seconds
    ended: dict[ProcessRef, None] = {}
    empty_sweeps = 0
    processes: list[ProcessRef] = []
    found = [census.find_process(pid) for pid in roots]
    starts, since = _starts_of_ended(found), _earliest(tokens, found)
    for _ in range(SWEEP_LIMIT):
        remembered = {*known, *ended}
        entries = census.take(since=since)
        processes = select(entries, tokens, roots=roots, known=remembered, ourselves=os.getpid())
        if not processes:
            empty_sweeps += 1
            if empty_sweeps == EMPTY_SWEEPS or (not ended and is_conclusive(entries, starts)):
                return list(ended)
            time.sleep(SWEEP_PAUSE_SECONDS)
            continue
        empty_sweeps = 0
        grace_left = deadline - time.monotonic()
        if grace_left > 0:
            fresh = [process for process in processes if process not in ended]
            signal_all(fresh, signal.SIGTERM)
            signal_all(fresh, signal.SIGCONT)  # a stopped process handles SIGTERM only when it continues
        else:
            signal_all(processes, signal.SIGKILL)
        ended.update(dict.fromkeys(processes))
        wait_gone(processes, grace_left if grace_left > 0 else KILL_WAIT_SECONDS)
    raise _survivors(processes)


def wait_gone(processes: Iterable[ProcessRef], seconds: float) -> None:
    """Wait until the processes have ended, up to a limit."""
    deadline = time.monotonic() + seconds
    left = list(processes)
    while left := [process for process in left if _is_alive(process)]:
        if time.monotonic() >= deadline:
            return
        time.sleep(POLL_SECONDS)


def _earliest(tokens: Collection[str], roots: Collection[Entry | None]) -> float:
    """Return the start of the oldest root: no process with its token is older. 0.0 unless each token has its root."""
    if len(roots) != len(tokens):
        return 0.0
    return min((0.0 if root is None else root.create_time for root in roots), default=0.0)


def _starts_of_ended(found: Collection[Entry | None]) -> dict[int, float] | None:
    """Return the start times of these processes; None unless all have ended and are still listed."""
    entries = [entry for entry in found if entry is not None and not entry.is_alive]
    return {entry.pid: entry.create_time for entry in entries} if found and len(entries) == len(found) else None


def is_conclusive(entries: Census, starts: Mapping[int, float] | None) -> bool:
    """Return whether one census without a process of the run is proof that none is left. Pure.

    The roots had ended before it. A process that they left is in the census, unless its parent ended during it: then
    that parent was missed or a zombie. And during an exec a process shows no environment. Where no process that is
    younger than the roots is one of these, nothing is left.
    """
    if starts is None or entries.has_missed:
        return False
    began = min(starts.values())
    young = (entry for entry in entries.values() if entry.create_time >= began and entry.pid not in starts)
    return not any(entry.pid in entries.unread or not entry.is_alive for entry in young)


def _ancestors_of(entries: Mapping[int, Entry], pid: int) -> set[int]:
    """Return a process and its ancestors, always with pid 0 and 1."""
    ancestors = {0, 1}
    while pid not in ancestors:
        ancestors.add(pid)
        pid = entries[pid].parent if pid in entries else 0
    return ancestors


def _is_same(entry: Entry | None, process: ProcessRef) -> bool:
    return entry is not None and entry.create_time == process.create_time


def _signal(process: ProcessRef, sig: signal.Signals) -> None:
    # With a pidfd the pid cannot be reused between the check and the signal. Without one (not Linux, or an old
    # kernel) there is a gap of a few microseconds.
    handle = _open_handle(process.pid)
    try:
        if not _is_same(census.find_process(process.pid), process):
            return
        if handle is None:
            os.kill(process.pid, sig)
        else:
            signal.pidfd_send_signal(handle, sig)
    finally:
        if handle is not None:
            os.close(handle)


def _open_handle(pid: int) -> int | None:
    if not hasattr(os, "pidfd_open"):
        return None
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        raise
    except OSError:
        return None


def _is_alive(process: ProcessRef) -> bool:
    entry = census.find_process(process.pid)
    return entry is not None and _is_same(entry, process) and entry.is_alive


def _survivors(processes: list[ProcessRef]) -> ProcessError:
    names = ", ".join(f"{process.name} ({process.pid})" for process in processes) or "they fork too fast"
    return ProcessError(
        f"processes of the run could not be ended: {names}",
        remedy="Check them with ps; a process that waits for a disk ends only when the disk responds.",
        payload=tuple(processes),
    )

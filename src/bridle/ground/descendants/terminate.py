"""Find and end everything that a run has started: the process tree, and whatever carries the run's token.

The tree alone is not enough: an agent's shell commands have sessions of their own, and a daemon leaves the
tree for good. The token alone is not enough either: a program may be started with an empty environment.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from bridle.errors import ProcessError
from bridle.ground.descendants import census
from bridle.ground.descendants.census import TOKEN_VARIABLE, Census, Entry

__all__ = ["TOKEN_VARIABLE", "Victim", "end_all", "end_many", "find", "is_conclusive", "select", "signal_all"]

# A process that forks while we look can slip through one sweep. This many let a busy build end, and stop us
# within seconds where something forks faster than it can be ended.
SWEEP_LIMIT = 50

# One empty sweep proves little where anything was in motion: see `is_conclusive`.
CALM_SWEEPS = 2

# Long enough for an exec to be over, short enough not to be felt at the end of each run.
SWEEP_PAUSE_SECONDS = 0.01

# After SIGKILL a process is gone in microseconds unless the kernel holds it; this is for a loaded machine.
# With SWEEP_LIMIT it bounds the wait for a process that cannot die.
KILL_WAIT_SECONDS = 0.2

# How often we look whether a process that was asked to end has done so.
LOOK_SECONDS = 0.01


@dataclass(frozen=True, slots=True)
class Victim:
    """A process to end; `create_time` makes sure that a later process with its pid is never meant."""

    pid: int
    create_time: float
    name: str


def find(token: str, root_pid: int | None, *, known: Collection[Victim] = ()) -> list[Victim]:
    """Find the living processes of a run: those with its token, its root and `known` ones, and all below them.

    The caller vouches for `root_pid`: it is a child that has not been reaped, so nobody else has its pid.
    """
    roots = () if root_pid is None else (root_pid,)
    return select(census.take(), {token}, roots=roots, known=known, ourselves=os.getpid())


def select(
    entries: Mapping[int, Entry],
    tokens: Collection[str],
    *,
    roots: Iterable[int],
    known: Collection[Victim],
    ourselves: int,
) -> list[Victim]:
    """Choose from a census what belongs to the tokens; never `ourselves` or an ancestor. Pure."""
    spared = _line_of(entries, ourselves)
    wanted = frozenset(tokens)
    todo = [entry.pid for entry in entries.values() if not wanted.isdisjoint(entry.tokens)]
    todo += [pid for pid in roots if pid in entries]
    todo += [one.pid for one in known if _is_same(entries.get(one.pid), one)]
    children: dict[int, list[int]] = {}
    for entry in entries.values():
        children.setdefault(entry.parent, []).append(entry.pid)
    chosen: dict[int, Victim] = {}
    seen: set[int] = set()
    while todo:
        pid = todo.pop()
        if pid in seen or pid in spared:
            continue
        seen.add(pid)
        todo += children.get(pid, ())
        entry = entries[pid]
        if entry.is_alive:
            chosen[pid] = Victim(pid, entry.create_time, entry.name)
    return list(chosen.values())


def signal_all(victims: Iterable[Victim], sig: signal.Signals) -> None:
    """Send a signal to those that are still the processes they were when they were found."""
    for victim in victims:
        try:
            _signal(victim, sig)
        except (ProcessLookupError, PermissionError):
            pass  # gone already; or not ours to signal, and then end_all names it as a survivor


def end_all(token: str, root_pid: int | None, *, grace_seconds: float, known: Collection[Victim] = ()) -> list[Victim]:
    """End every process of a run and return those that had to be ended; see `find` for the arguments.

    SIGTERM first, SIGKILL once the grace is over. ProcessError names what survives even that.
    """
    roots = () if root_pid is None else (root_pid,)
    return end_many((token,), roots=roots, grace_seconds=grace_seconds, known=known)


def end_many(
    tokens: Collection[str],
    *,
    roots: Collection[int] = (),
    grace_seconds: float,
    known: Collection[Victim] = (),
) -> list[Victim]:
    """End every process of several runs at once."""
    deadline = time.monotonic() + grace_seconds
    ended: dict[Victim, None] = {}
    calm = 0
    victims: list[Victim] = []
    starts = _starts_of_ended(roots)
    for _ in range(SWEEP_LIMIT):
        remembered = {*known, *ended}
        entries = census.take()
        victims = select(entries, tokens, roots=roots, known=remembered, ourselves=os.getpid())
        if not victims:
            calm += 1
            if calm == CALM_SWEEPS or (not ended and is_conclusive(entries, starts)):
                return list(ended)
            time.sleep(SWEEP_PAUSE_SECONDS)
            continue
        calm = 0
        patience = deadline - time.monotonic()
        if patience > 0:
            fresh = [victim for victim in victims if victim not in ended]
            signal_all(fresh, signal.SIGTERM)
            signal_all(fresh, signal.SIGCONT)  # one that is stopped hears SIGTERM only when it goes on
        else:
            signal_all(victims, signal.SIGKILL)
        ended.update(dict.fromkeys(victims))
        _wait_gone(victims, patience if patience > 0 else KILL_WAIT_SECONDS)
    raise _survivors(victims)


def _starts_of_ended(roots: Collection[int]) -> dict[int, float] | None:
    """When these processes began, all of which have ended; None where one has not, or is not known."""
    found = [census.look(pid) for pid in roots]
    entries = [entry for entry in found if entry is not None and not entry.is_alive]
    return {entry.pid: entry.create_time for entry in entries} if found and len(entries) == len(found) else None


def is_conclusive(entries: Census, starts: Mapping[int, float] | None) -> bool:
    """Whether one look that found nothing of a run is enough. Pure.

    The roots had ended before it. What they left was listed then, unless its own parent ended while we looked: such a
    parent had been listed, and was gone or a zombie when its turn came. And whoever is in an exec shows no environment
    for a moment. Where none of these is to be seen among processes that are no older than the roots, nothing is left.
    """
    if starts is None or entries.has_missed:
        return False
    began = min(starts.values())
    young = (entry for entry in entries.values() if entry.create_time >= began and entry.pid not in starts)
    return not any(entry.pid in entries.unread or not entry.is_alive for entry in young)


def _line_of(entries: Mapping[int, Entry], pid: int) -> set[int]:
    """Return a process, its parent, and so on up; and the first process of the machine in any case."""
    line = {0, 1}
    while pid not in line:
        line.add(pid)
        pid = entries[pid].parent if pid in entries else 0
    return line


def _is_same(entry: Entry | None, victim: Victim) -> bool:
    return entry is not None and entry.create_time == victim.create_time


def _signal(victim: Victim, sig: signal.Signals) -> None:
    # With a descriptor of the process the pid cannot change its owner between the look and the signal.
    # Without one (not Linux, or an old kernel) the gap between the two is a few microseconds.
    handle = _open_handle(victim.pid)
    try:
        if not _is_same(census.look(victim.pid), victim):
            return
        if handle is None:
            os.kill(victim.pid, sig)
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


def _wait_gone(victims: Iterable[Victim], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    left = list(victims)
    while left := [victim for victim in left if _is_alive(victim)]:
        if time.monotonic() >= deadline:
            return
        time.sleep(LOOK_SECONDS)


def _is_alive(victim: Victim) -> bool:
    entry = census.look(victim.pid)
    return entry is not None and _is_same(entry, victim) and entry.is_alive


def _survivors(victims: list[Victim]) -> ProcessError:
    names = ", ".join(f"{victim.name} ({victim.pid})" for victim in victims) or "new ones all the time"
    return ProcessError(
        f"processes of the run could not be ended: {names}",
        remedy="Look at them with ps; one that waits for a broken disk ends only when the disk answers.",
        payload=tuple(victims),
    )

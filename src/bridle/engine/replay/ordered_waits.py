"""`asyncio.wait`, `as_completed` and `gather` in an order that each replay repeats.

asyncio keeps what they wait for in sets. A set is ordered by the hash of its members, which for most objects is their
address. Promises and tasks of a process have numbers instead; the rest is numbered, ordered or refused here. Other
event loops of the interpreter are not affected.
"""

from __future__ import annotations

import asyncio
from asyncio import events, tasks
from collections.abc import Iterable, Iterator
from typing import Any

from bridle.engine.replay import audit_hook
from bridle.engine.replay.event_loop import Promise, ReplayLoop, ReplayTask

ORDER_WAY = "Pass a list: the order of a set of such objects depends on their addresses, which differ in each replay."

_GatheringFuture: Any = vars(tasks)["_GatheringFuture"]
"""The class of what `asyncio.gather` and `ctx.parallel` return."""
_STABLE: tuple[Any, ...] = (Promise, ReplayTask, _GatheringFuture)
"""Futures whose hash is the same in each replay."""

_wait = asyncio.wait
_as_completed = asyncio.as_completed
_is_installed = False


def install() -> None:
    """Replace the functions, once for the interpreter; before a process is imported, which may import them by name."""
    global _is_installed
    if _is_installed:
        return
    _is_installed = True
    _GatheringFuture.__hash__ = _hash_gathering
    names: dict[str, Any] = {"wait": wait, "as_completed": as_completed}
    for module in (asyncio, tasks):
        vars(module).update(names)


async def wait(fs: Iterable[Any], **options: Any) -> tuple[set[Any], set[Any]]:
    """Wait as `asyncio.wait` does; both sets have the same order in each replay."""
    fs = _as_collection(fs)
    order = _in_order(fs, "asyncio.wait")
    done, pending = await _wait(fs, **options)
    return (done, pending) if order is None else (_OrderedSet(done, order), _OrderedSet(pending, order))


def as_completed(fs: Iterable[Any], **options: Any) -> Any:
    """Return the results as `asyncio.as_completed` does; coroutines start in the given order."""
    fs = _as_collection(fs)
    order = _in_order(fs, "asyncio.as_completed")
    if order is None:
        return _as_completed(fs, **options)
    create = asyncio.get_running_loop().create_task
    return _as_completed([one if isinstance(one, _STABLE) else create(one) for one in order], **options)


class _OrderedSet(set[Any]):
    """A set that is iterated in a given order."""

    def __init__(self, members: Iterable[Any], order: list[Any]) -> None:
        super().__init__(members)
        self._order = order

    def __iter__(self) -> Iterator[Any]:
        return iter([one for one in self._order if one in self])

    def pop(self) -> Any:
        """Remove the first member and return it."""
        for first in self:
            self.remove(first)
            return first
        raise KeyError("pop from an empty set")


def _as_collection(fs: Iterable[Any]) -> Iterable[Any]:
    """Return the members of an iterator as a list; anything else as it is."""
    return list(fs) if isinstance(fs, Iterator) else fs


def _in_order(fs: Iterable[Any], function: str) -> list[Any] | None:
    """Return what a process waits for in a stable order; None if asyncio's own order is stable, or for other loops."""
    is_one = asyncio.isfuture(fs) or asyncio.iscoroutine(fs)  # which asyncio rejects
    if is_one or not isinstance(events._get_running_loop(), ReplayLoop):
        return None
    others = [one for one in fs if not isinstance(one, _STABLE)]
    if not others:
        return None
    if not isinstance(fs, (set, frozenset)) or isinstance(fs, _OrderedSet):
        return list(dict.fromkeys(fs))
    if len(others) > 1:
        kind = type(others[0]).__name__
        raise audit_hook.forbidden(f"{function} cannot be called with a set of {kind} objects", ORDER_WAY)
    return sorted((one for one in fs if isinstance(one, _STABLE)), key=hash) + others


def _hash_gathering(future: Any) -> int:
    loop = future.get_loop()
    if not isinstance(loop, ReplayLoop):
        return object.__hash__(future)
    number: int | None = getattr(future, "_bridle_number", None)
    if number is None:
        number = future._bridle_number = loop.next_gathering_number()
    return number

"""What a process is given as `ctx`: every way to ask for something, to tell the time and to leave a word.

A step takes its number when the method is called, not when what it returns is awaited.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime
from typing import Any, Protocol

from bridle.engine.process import effects
from bridle.engine.process.define_task import DefinedTask, caller_place
from bridle.engine.process.effects import EffectRequest
from bridle.errors import BadTask
from bridle.ground import clock

# How long a hook may take that says nothing about it: the format's own default.
HOOK_SECONDS = 30.0


class EffectSource(Protocol):
    """Who answers what a process asks for: the replay behind it."""

    def ask(self, wish: EffectRequest, key: str | None) -> asyncio.Future[Any]:
        """The promise of an effect's result."""
        ...

    def ask_hook(self, hook_type: str, payload: Any, label: str | None, limit_seconds: float) -> asyncio.Future[Any]:
        """The promise of what a native hook says."""
        ...

    def read_clock(self) -> datetime:
        """The recorded time of this turn."""
        ...

    def next_id(self) -> str:
        """An id that every replay gives again."""
        ...

    def log(self, label: str | None, message: str) -> None:
        """Record a word, once."""
        ...

    def halt(self, reason: str, payload: Any) -> asyncio.Future[Any]:
        """End the run; the promise is never kept."""
        ...


class Parallel:
    """Several things at once, each result in its place."""

    def all(self, thunks: Iterable[Callable[[], Any] | Awaitable[Any]]) -> asyncio.Future[list[Any]]:
        """Start every function in order and wait for all; the first error is raised at once."""
        return asyncio.gather(*[_started(thunk, place) for place, thunk in enumerate(thunks)])

    def map(self, items: Iterable[Any], function: Callable[[Any], Any]) -> asyncio.Future[list[Any]]:
        """Call the function with each item, in order, and wait for all results."""
        return asyncio.gather(*[_awaitable(function(item)) for item in items])


class Context:
    """The process's only door to the world."""

    def __init__(self, desk: EffectSource, run_id: str) -> None:
        self._desk = desk
        self.run_id = run_id
        self.parallel = Parallel()

    def task(
        self, task: DefinedTask, args: Any = None, *, label: str | None = None, key: str | None = None
    ) -> asyncio.Future[Any]:
        """Ask for a task; awaiting it gives the posted value, or raises EffectFailed for a posted error.

        `key` names the step instead of its number, so that steps can be put before it while the run is under way.
        """
        if not isinstance(task, DefinedTask):
            raise BadTask(
                f"ctx.task was called with {type(task).__name__} and not with a task at {caller_place()}",
                remedy="Make one with define_task('name', lambda args, task: {…}).",
            )
        inputs = {} if args is None else args
        return self._desk.ask(
            EffectRequest(task.task_id, inputs, label, lambda made: task.define(inputs, made), identity=task.identity),
            key,
        )

    def breakpoint(
        self,
        payload: Any = None,
        *,
        label: str | None = None,
        key: str | None = None,
        expert: str | None = None,
        tags: Iterable[str] | None = None,
        strategy: str | None = None,
    ) -> asyncio.Future[Any]:
        """Ask a person; the answer is what was posted, normally `{"approved": …, "response": …}`."""
        options = {"expert": expert, "tags": None if tags is None else list(tags), "strategy": strategy}
        return self._desk.ask(effects.breakpoint_wish(payload, label=label, options=options, now=clock.now()), key)

    def sleep_until(
        self, until: datetime | str | float, *, label: str | None = None, key: str | None = None
    ) -> asyncio.Future[Any]:
        """Wait until a moment: an aware datetime, ISO text or milliseconds since 1970."""
        return self._desk.ask(effects.sleep_wish(effects.sleep_target(until), label=label), key)

    def orchestrator_task(
        self, payload: Any = None, *, label: str | None = None, key: str | None = None
    ) -> asyncio.Future[Any]:
        """Ask whoever drives the run for something."""
        return self._desk.ask(effects.orchestrator_wish(payload, label=label), key)

    def hook(
        self, hook_type: str, payload: Any = None, *, label: str | None = None, timeout_seconds: float = HOOK_SECONDS
    ) -> asyncio.Future[Any]:
        """Run the native hooks of a type, once; every replay gets what they said then."""
        return self._desk.ask_hook(hook_type, payload, label, timeout_seconds)

    def now(self) -> datetime:
        """The time, in UTC; the same in every replay, and the same until the next result comes in."""
        return self._desk.read_clock()

    def new_id(self) -> str:
        """An id that nobody else has; the same in every replay."""
        return self._desk.next_id()

    def log(self, *words: Any) -> None:
        """`ctx.log(message)` or `ctx.log(label, message)`: kept in the journal, once."""
        message = words[-1] if words else None
        label = words[0] if len(words) > 1 and isinstance(words[0], str) else None
        if isinstance(message, str) and message:
            self._desk.log(label, message)

    def halt(self, reason: str, payload: Any = None) -> asyncio.Future[Any]:
        """End the run here, for good: `await ctx.halt("no budget left")`."""
        return self._desk.halt(reason, payload)


def _started(thunk: Callable[[], Any] | Awaitable[Any], place: int) -> Awaitable[Any]:
    if callable(thunk):
        return _awaitable(thunk())
    if isinstance(thunk, Awaitable):
        return thunk
    raise TypeError(
        f"parallel.all() takes a list of functions, but the element at index {place} is {type(thunk).__name__}: "
        "write lambda: ctx.task(…)"
    )


def _awaitable(value: Any) -> Awaitable[Any]:
    """What can be awaited as it is; a plain value as one that is there already."""
    if isinstance(value, Awaitable):
        return value
    done = asyncio.get_running_loop().create_future()
    done.set_result(value)
    return done

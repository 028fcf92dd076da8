"""`ctx`, the interface between a process and the engine.

A step gets its number when the method is called, not when its result is awaited.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime
from typing import Any, Protocol

from bridle.engine.process import effects
from bridle.engine.process.define_task import DefinedTask, caller_location
from bridle.engine.process.effects import EffectRequest
from bridle.errors import BadTask
from bridle.ground import clock

# The default time limit of a hook, by the format.
HOOK_SECONDS = 30.0


class EffectSource(Protocol):
    """The replay behind a context: it resolves the requests of the process."""

    def request(self, request: EffectRequest, key: str | None) -> asyncio.Future[Any]:
        """Return the future result of an effect."""
        ...

    def request_hook(
        self, hook_type: str, payload: Any, label: str | None, limit_seconds: float
    ) -> asyncio.Future[Any]:
        """Return the future result of a native hook."""
        ...

    def read_clock(self) -> datetime:
        """Return the recorded time of this turn."""
        ...

    def next_id(self) -> str:
        """Return a unique id, the same in every replay."""
        ...

    def log(self, label: str | None, message: str) -> None:
        """Record a message, once."""
        ...

    def halt(self, reason: str, payload: Any) -> asyncio.Future[Any]:
        """End the run; the future is never resolved."""
        ...


class Parallel:
    """Concurrent requests with ordered results."""

    def all(self, thunks: Iterable[Callable[[], Any] | Awaitable[Any]]) -> asyncio.Future[list[Any]]:
        """Call every function in order and wait for all results; raise the first error at once."""
        return asyncio.gather(*[_start(thunk, index) for index, thunk in enumerate(thunks)])

    def map(self, items: Iterable[Any], function: Callable[[Any], Any]) -> asyncio.Future[list[Any]]:
        """Call the function with each item in order and wait for all results."""
        return asyncio.gather(*[_to_awaitable(function(item)) for item in items])


class Context:
    """The context of a process, its only access to the outside."""

    def __init__(self, source: EffectSource, run_id: str) -> None:
        self._source = source
        self.run_id = run_id
        self.parallel = Parallel()
        self.report_state: Callable[[], Any] | None = None
        """A function of the process that returns its present state, for the driver; set by Bridle's own processes."""

    def task(
        self, task: DefinedTask, args: Any = None, *, label: str | None = None, key: str | None = None
    ) -> asyncio.Future[Any]:
        """Request a task; awaiting it returns the posted value, or raises EffectFailed for a posted error.

        `key` identifies the step instead of its number, so that steps can be inserted before it during the run.
        """
        if not isinstance(task, DefinedTask):
            raise BadTask(
                f"the first argument of ctx.task must be a task, got {type(task).__name__} at {caller_location()}",
                remedy="Define one with define_task('name', lambda args, task: {…}).",
            )
        inputs = {} if args is None else args
        return self._source.request(
            EffectRequest(
                task.task_id, inputs, label, lambda context: task.define(inputs, context), identity=task.identity
            ),
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
        """Ask the user; the result is the posted answer, an object with `approved` and mostly `response`."""
        options = {"expert": expert, "tags": None if tags is None else list(tags), "strategy": strategy}
        return self._source.request(
            effects.breakpoint_request(payload, label=label, options=options, now=clock.now()), key
        )

    def sleep_until(
        self, until: datetime | str | float, *, label: str | None = None, key: str | None = None
    ) -> asyncio.Future[Any]:
        """Wait until a time: an aware datetime, ISO text or milliseconds since 1970."""
        return self._source.request(effects.sleep_request(effects.sleep_target(until), label=label), key)

    def orchestrator_task(
        self, payload: Any = None, *, label: str | None = None, key: str | None = None
    ) -> asyncio.Future[Any]:
        """Request something from the program that drives the run."""
        return self._source.request(effects.orchestrator_request(payload, label=label), key)

    def hook(
        self, hook_type: str, payload: Any = None, *, label: str | None = None, timeout_seconds: float = HOOK_SECONDS
    ) -> asyncio.Future[Any]:
        """Run the native hooks of a type, once; replays return the recorded result."""
        return self._source.request_hook(hook_type, payload, label, timeout_seconds)

    def now(self) -> datetime:
        """Return the time in UTC; the same in every replay, and until the next result arrives."""
        return self._source.read_clock()

    def new_id(self) -> str:
        """Return a unique id, the same in every replay."""
        return self._source.next_id()

    def log(self, *arguments: Any) -> None:
        """Record `ctx.log(message)` or `ctx.log(label, message)` in the journal, once."""
        message = arguments[-1] if arguments else None
        label = arguments[0] if len(arguments) > 1 and isinstance(arguments[0], str) else None
        if isinstance(message, str) and message:
            self._source.log(label, message)

    def halt(self, reason: str, payload: Any = None) -> asyncio.Future[Any]:
        """End the run permanently: `await ctx.halt("no budget left")`."""
        return self._source.halt(reason, payload)


def _start(thunk: Callable[[], Any] | Awaitable[Any], index: int) -> Awaitable[Any]:
    if callable(thunk):
        return _to_awaitable(thunk())
    if isinstance(thunk, Awaitable):
        return thunk
    raise TypeError(
        f"parallel.all() takes a list of functions, but the element at index {index} is {type(thunk).__name__}: "
        "write lambda: ctx.task(…)"
    )


def _to_awaitable(value: Any) -> Awaitable[Any]:
    """Return an awaitable as it is, and any other value as a resolved future."""
    if isinstance(value, Awaitable):
        return value
    future = asyncio.get_running_loop().create_future()
    future.set_result(value)
    return future

"""The event loop that a process runs on: no clock, no sockets, no threads; the same steps give the same order.

It does nothing by itself. Whoever owns it delivers a result and lets it run to rest: until nothing more can happen
without another result. What asyncio offers for waiting on each other (gather, TaskGroup, create_task, wait, Event,
Queue, Lock, Condition, Semaphore) works as everywhere; what would bring in the world outside is refused with an error
that names the way to do it through `ctx`.
"""

from __future__ import annotations

import asyncio
import contextvars
import gc
import sys
from asyncio import events
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from bridle.engine.replay import audit_fence
from bridle.engine.replay.forbidden_calls import RefusingLoop
from bridle.errors import InternalError, NotInProcess

T = TypeVar("T")

# Handles run between two results before the loop is taken for one that never rests. A process does a handful of
# things between two results; a million of them takes seconds and is `while True: await asyncio.sleep(0)`.
HANDLE_LIMIT = 1_000_000

# The list of tasks is swept when it has grown by this many, so that finished ones do not pile up.
SWEEP_TASKS = 1024


class Promise(asyncio.Future[Any]):
    """What `ctx.task` and its like return: it can be awaited, gathered, wrapped in a task, or left alone.

    Its hash is a number, so that sets of promises (asyncio.wait returns such) have the same order in each replay.
    """

    _number = 0

    def __hash__(self) -> int:
        if not self._number:
            loop = self.get_loop()
            assert isinstance(loop, ReplayLoop)  # noqa: S101  # for the type checker: no other loop makes promises
            self._number = loop.next_number()
        return self._number


class _Task(asyncio.Task[Any]):
    """A task whose hash is its number, for the same reason."""

    def __init__(self, coro: Any, loop: ReplayLoop, name: str | None, context: contextvars.Context | None) -> None:
        self._number = loop.next_number()  # first: asyncio's own __init__ puts the task into a set
        super().__init__(coro, loop=loop, name=name, context=context)

    def __hash__(self) -> int:
        return self._number


class ReplayLoop(RefusingLoop):
    """A loop that runs when it is told to and rests when only a result from outside can move it."""

    def __init__(self) -> None:
        self._notes: list[str] = []
        self._ready: deque[events.Handle] = deque()
        self._tasks: list[asyncio.Task[Any]] = []
        self._sweep_at = SWEEP_TASKS
        self._orphans: list[AsyncGenerator[Any, Any]] = []
        self._numbers = 0
        self._is_running = False
        self._is_stopped = False
        self._anchor = _anchored(self)

    # ---- for the owner

    @contextmanager
    def running(self) -> Iterator[None]:
        """Make this the loop of the calling thread; within, `rest` runs it."""
        if events._get_running_loop() is not None:
            raise InternalError(
                "a process cannot be run inside of a running event loop", remedy="Run it in a thread of its own."
            )
        is_collecting, hooks = gc.isenabled(), sys.get_asyncgen_hooks()
        # What is dropped is finalised where it is dropped and nowhere else: the collector strikes at any time.
        gc.disable()
        sys.set_asyncgen_hooks(firstiter=None, finalizer=self._close_generator)
        events._set_running_loop(self)
        self._is_running = True
        try:
            with audit_fence.raised():
                yield
        finally:
            self._is_running = False
            events._set_running_loop(None)
            sys.set_asyncgen_hooks(*hooks)
            if is_collecting:
                gc.enable()

    def rest(self) -> None:
        """Run everything that can run without another result."""
        ready, count = self._ready, 0
        while ready:
            handle = ready.popleft()
            if handle.cancelled():
                continue
            count += 1
            if count > HANDLE_LIMIT:
                raise NotInProcess(
                    f"the process did {HANDLE_LIMIT:,} things without waiting for a result",
                    remedy="Look for a loop around asyncio.sleep(0); wait for an effect instead.",
                )
            try:
                handle._run()
            except SystemExit:
                pass  # asyncio lets it through, but it is also the end of the task that raised it: enough

    def stop_for_good(self) -> None:
        """Run nothing any more, not even what is ready; the code of the process sees nothing of it."""
        self._is_stopped = True
        self._ready.clear()

    def abandon(self) -> None:
        """Leave everything that is suspended as it is, for as long as the interpreter lives and when it ends."""
        self.stop_for_good()
        if not self.unfinished() and not self._orphans:
            self._anchor.clear()

    def notes(self) -> list[str]:
        """Errors that nobody has heard of: of callbacks, and of tasks that were never awaited."""
        unheard = [task.exception() for task in self._tasks if _is_unheard(task)]
        return [*self._notes, *(f"a task that nobody awaits failed: {_in_words(error)}" for error in unheard)]

    def unfinished(self) -> list[asyncio.Task[Any]]:
        """The tasks that have not ended."""
        return [task for task in self._tasks if not task.done()]

    def next_number(self) -> int:
        """Numbers for whatever needs an order that is the same in each replay."""
        self._numbers += 1
        return self._numbers

    def _close_generator(self, generator: AsyncGenerator[Any, Any]) -> None:
        """An async generator was dropped half-way: closed as asyncio does it, or kept when the loop is at rest."""
        if self._is_running:
            self.create_task(generator.aclose())
        else:
            self._orphans.append(generator)

    # ---- for asyncio

    def call_soon(  # type: ignore[override]  # the arguments are passed on as they are
        self, callback: Callable[..., object], *args: Any, context: contextvars.Context | None = None
    ) -> events.Handle:
        """Run it in this turn, after what is ready already."""
        handle = events.Handle(callback, args, self, context)
        if not self._is_stopped:
            self._ready.append(handle)
        return handle

    def create_future(self) -> asyncio.Future[Any]:
        """A future of this loop."""
        return Promise(loop=self)

    def create_task(
        self,
        coro: Generator[Any, None, T] | Coroutine[Any, Any, T] | Awaitable[T],
        *,
        name: str | None = None,
        context: contextvars.Context | None = None,
    ) -> asyncio.Task[T]:
        """A task of this loop; what `ctx.task` returned is wrapped, so that TaskGroup takes it too."""
        if isinstance(coro, asyncio.Future):
            coro = _awaited(coro)
        task = _Task(coro, self, name, context)
        self._tasks.append(task)  # asyncio holds tasks weakly: one that waits alone would be collected
        if len(self._tasks) > self._sweep_at:
            self._tasks = [task for task in self._tasks if not task.done() or _is_unheard(task)]
            self._sweep_at = len(self._tasks) + SWEEP_TASKS
        return task

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Keep an error that has no other place to go."""
        error = context.get("exception")
        words = f": {_in_words(error)}" if error is not None else ""
        self._notes.append(f"{context.get('message')}{words}")

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        """The same: there is one way to handle them."""
        self.call_exception_handler(context)

    def get_exception_handler(self) -> None:
        """There is none besides ours."""

    def get_task_factory(self) -> None:
        """There is none besides ours."""

    def get_debug(self) -> bool:
        """Never: asyncio's debug mode looks at the clock."""
        return False

    def is_running(self) -> bool:
        """Whether a turn is under way."""
        return self._is_running

    def is_closed(self) -> bool:
        """Never: a loop at rest waits for the next result."""
        return False


def _is_unheard(task: asyncio.Task[Any]) -> bool:
    """Whether a task has an error that nobody has asked for: what asyncio itself looks at when a task is dropped."""
    return bool(getattr(task, "_log_traceback", False))


def _in_words(error: BaseException | None) -> str:
    return f"{type(error).__name__}: {error}"


def _anchored(thing: object) -> list[object]:
    """A list that keeps the thing, and itself, for ever: until it is cleared.

    A suspended coroutine that is collected runs its `finally` blocks, also at the end of the interpreter. So it must
    never be. The list stands in a cycle through the constants of a code object, which the collector cannot look into:
    to it the list is in use. Where it can (Python without the global lock) the list's count is raised instead.
    """
    anchor: list[object] = [thing]
    code = _awaited.__code__.replace(co_consts=(anchor,))
    anchor.append(code)
    if gc.is_tracked(code):
        import ctypes

        ctypes.pythonapi.Py_IncRef(ctypes.py_object(anchor))
    return anchor


async def _awaited(future: asyncio.Future[T]) -> T:
    return await future

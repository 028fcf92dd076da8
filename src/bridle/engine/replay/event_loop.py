"""The event loop of a process: no clock, no sockets, no threads; the same steps run in the same order.

It does nothing by itself. Its owner delivers a result and runs it until idle: until nothing can run without another
result. The synchronisation of asyncio (gather, TaskGroup, create_task, wait, Event, Queue, Lock, Condition, Semaphore)
works as usual. Anything that reaches outside raises an error that names the alternative in `ctx`.
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

from bridle.engine.process.user_interrupt import UserInterrupt
from bridle.engine.replay import audit_hook
from bridle.engine.replay.forbidden_calls import RestrictedLoop
from bridle.errors import InternalError, NotInProcess

T = TypeVar("T")

# Handles between two results before the loop is taken for an endless one. A process runs a handful of them; a million
# takes seconds and is `while True: await asyncio.sleep(0)`.
HANDLE_LIMIT = 1_000_000

# Finished tasks are dropped whenever the list has grown by this many.
SWEEP_TASKS = 64

# More tasks than a process can have.
_FIRST_GATHERING = 1 << 40


class Promise(asyncio.Future[Any]):
    """The future that `ctx.task` and similar methods return.

    Its hash is a counter, so that sets of promises (the result of asyncio.wait) have the same order in each replay.
    """

    _number = 0

    def __hash__(self) -> int:
        if not self._number:
            loop = self.get_loop()
            assert isinstance(loop, ReplayLoop)  # noqa: S101  # for the type checker: no other loop creates promises
            self._number = loop.next_number()
        return self._number


class ReplayTask(asyncio.Task[Any]):
    """A task whose hash, and whose name if it is given none, is a counter, for the same reason."""

    def __init__(self, coro: Any, loop: ReplayLoop, name: str | None, context: contextvars.Context | None) -> None:
        self._number = loop.next_number()  # before asyncio's __init__, which adds the task to a set
        name = f"Task-{self._number}" if name is None else name  # asyncio counts the tasks of the interpreter
        super().__init__(coro, loop=loop, name=name, context=context)

    def __hash__(self) -> int:
        return self._number


class ReplayLoop(RestrictedLoop):
    """A loop that runs on demand, until only a result from outside can continue it."""

    def __init__(self) -> None:
        self._warnings: list[str] = []
        self._ready: deque[events.Handle] = deque()
        self._tasks: list[asyncio.Task[Any]] = []
        self._sweep_at = SWEEP_TASKS
        self._orphans: list[AsyncGenerator[Any, Any]] = []
        self._numbers = self._gatherings = 0
        self._is_running = False
        self._is_stopped = False
        self._interrupt = UserInterrupt()
        self._anchor = _keep_alive(self)

    # ---- for the owner

    @contextmanager
    def running(self) -> Iterator[None]:
        """Make this the running loop of the thread inside the block."""
        if events._get_running_loop() is not None:
            raise InternalError("a process cannot run inside a running event loop", remedy="Run it in another thread.")
        is_collecting, hooks = gc.isenabled(), sys.get_asyncgen_hooks()
        # The garbage collector would run finalisers at arbitrary points, different in each replay.
        gc.disable()
        sys.set_asyncgen_hooks(firstiter=None, finalizer=self._close_generator)
        events._set_running_loop(self)
        self._is_running = True
        try:
            with self._interrupt.watched(), audit_hook.active():
                yield
        finally:
            self._is_running = False
            events._set_running_loop(None)
            sys.set_asyncgen_hooks(*hooks)
            if is_collecting:
                gc.enable()

    def run_until_idle(self) -> None:
        """Run everything that can run without another result."""
        ready, count = self._ready, 0
        while ready:
            handle = ready.popleft()
            if handle.cancelled():
                continue
            count += 1
            if count > HANDLE_LIMIT:
                raise NotInProcess(
                    f"the process ran {HANDLE_LIMIT:,} callbacks without waiting for a result",
                    remedy="Look for a loop around asyncio.sleep(0); await an effect instead.",
                )
            try:
                handle._run()
            except SystemExit:
                pass  # asyncio re-raises it, but it has already ended its task
            except KeyboardInterrupt:
                if self._interrupt.has_arrived:
                    raise

    def stop_permanently(self) -> None:
        """Run nothing any more, not even ready handles; the process does not notice."""
        self._is_stopped = True
        self._ready.clear()

    def abandon(self) -> None:
        """Keep suspended code suspended, also at the end of the interpreter."""
        self.stop_permanently()
        if not self.unfinished() and not self._orphans:
            self._anchor.clear()

    def warnings(self) -> list[str]:
        """Return the errors of callbacks, and of tasks that were never awaited."""
        errors = [task.exception() for task in self._tasks if _has_unretrieved_error(task)]
        return [*self._warnings, *(f"a task that is not awaited failed: {_describe(error)}" for error in errors)]

    def unfinished(self) -> list[asyncio.Task[Any]]:
        """Return the tasks that have not finished."""
        return [task for task in self._tasks if not task.done()]

    def next_number(self) -> int:
        """Return the next number of a counter that is the same in each replay."""
        self._numbers += 1
        return self._numbers

    def next_gathering_number(self) -> int:
        """Return the next number of `asyncio.gather`; of its own range, so that those of tasks stay as recorded."""
        self._gatherings += 1
        return _FIRST_GATHERING + self._gatherings

    def _close_generator(self, generator: AsyncGenerator[Any, Any]) -> None:
        """Close a dropped async generator as asyncio does; keep it if the loop is idle."""
        if self._is_running:
            self.create_task(generator.aclose())
        else:
            self._orphans.append(generator)

    # ---- for asyncio

    def call_soon(  # type: ignore[override]  # the arguments are passed on as they are
        self, callback: Callable[..., object], *args: Any, context: contextvars.Context | None = None
    ) -> events.Handle:
        """Run a callback in this turn, after the ready ones."""
        handle = events.Handle(callback, args, self, context)
        if not self._is_stopped:
            self._ready.append(handle)
        return handle

    def create_future(self) -> asyncio.Future[Any]:
        """Return a future of this loop."""
        return Promise(loop=self)

    def create_task(
        self,
        coro: Generator[Any, None, T] | Coroutine[Any, Any, T] | Awaitable[T],
        *,
        name: str | None = None,
        context: contextvars.Context | None = None,
    ) -> asyncio.Task[T]:
        """Return a task of this loop; wrap a result of `ctx.task`, so that TaskGroup accepts it."""
        if isinstance(coro, asyncio.Future):
            coro = _awaited(coro)
        task = ReplayTask(coro, self, name, context)
        self._tasks.append(task)  # asyncio holds tasks weakly: without this, a suspended one could be collected
        if len(self._tasks) > self._sweep_at:
            self._tasks = [task for task in self._tasks if not task.done() or _has_unretrieved_error(task)]
            self._sweep_at = 2 * len(self._tasks) + SWEEP_TASKS
        return task

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Collect an error of a callback as a warning."""
        error = context.get("exception")
        cause = f": {_describe(error)}" if error is not None else ""
        self._warnings.append(f"{context.get('message')}{cause}")

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        """Collect an error of a callback as a warning."""
        self.call_exception_handler(context)

    def get_exception_handler(self) -> None:
        """Return None: it cannot be set."""

    def get_task_factory(self) -> None:
        """Return None: it cannot be set."""

    def get_debug(self) -> bool:
        """Return False: asyncio's debug mode reads the clock."""
        return False

    def is_running(self) -> bool:
        """Return whether a turn is running."""
        return self._is_running

    def is_closed(self) -> bool:
        """Return False: an idle loop waits for the next result."""
        return False


def _has_unretrieved_error(task: asyncio.Task[Any]) -> bool:
    """Return whether a task has an error that was never retrieved, by asyncio's own flag."""
    return bool(getattr(task, "_log_traceback", False))


def _describe(error: BaseException | None) -> str:
    return f"{type(error).__name__}: {error}"


def _keep_alive(target: object) -> list[object]:
    """Return a list that keeps the target and itself alive until it is cleared.

    A suspended coroutine that is collected runs its `finally` blocks, also at the end of the interpreter, so it must
    never be collected. The list is in a cycle through the constants of a code object, which the collector does not
    traverse, so it counts as in use. Where it does (free-threaded Python), the reference count is raised instead.
    """
    anchor: list[object] = [target]
    code = _awaited.__code__.replace(co_consts=(anchor,))
    anchor.append(code)
    if gc.is_tracked(code):
        import ctypes

        ctypes.pythonapi.Py_IncRef(ctypes.py_object(anchor))
    return anchor


async def _awaited(future: asyncio.Future[T]) -> T:
    return await future

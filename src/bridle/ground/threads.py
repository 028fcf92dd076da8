"""Run blocking work in a thread, and wait for it even if the waiting task is cancelled."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from contextvars import Context
from queue import Empty, SimpleQueue
from typing import TypeVar

T = TypeVar("T")
V = TypeVar("V")

# Starting a thread costs more than most of the work: an idle one waits this long for more.
IDLE_SECONDS = 1.0
IDLE_NAME = "idle"

Work = tuple[Callable[[], Callable[[], None]], str]
"""A function that does the work and returns one that delivers its result; and a name."""

_idle: list[SimpleQueue[Work]] = []
os.register_at_fork(after_in_child=_idle.clear)  # a fork has none of the parent's threads


def in_thread(work: Callable[[], T], *, name: str) -> asyncio.Future[T]:
    """Run blocking work in a thread of its own.

    Not in asyncio's pool: with its few threads a hundred agents would wait for each other. The result is a future and
    not a task, so that the end of the event loop cannot cancel the work.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def run() -> Callable[[], None]:
        try:
            result = Context().run(work)  # variables that it sets must not leak into the next work
        except BaseException as error:  # noqa: BLE001  # raised where the future is awaited
            fault = error
            return lambda: _post(loop, _fail, future, fault)
        return lambda: _post(loop, _settle, future, result)

    try:
        _hand_over((run, name))
    except RuntimeError:  # no more threads: block the event loop, but lose no work
        run()()
    return future


def _hand_over(work: Work) -> None:
    try:
        inbox = _idle.pop()
    except IndexError:
        threading.Thread(target=_serve, args=(work,), name=work[1], daemon=True).start()
    else:
        inbox.put(work)


def _serve(item: Work) -> None:
    """Do work until there is none for IDLE_SECONDS."""
    inbox: SimpleQueue[Work] = SimpleQueue()
    thread = threading.current_thread()
    while True:
        work, thread.name = item
        deliver = work()
        thread.name = IDLE_NAME
        _idle.append(inbox)  # before the result is delivered: its receiver may have more work
        deliver()
        del item, work, deliver  # do not keep the result alive
        try:
            item = inbox.get(timeout=IDLE_SECONDS)
        except Empty:
            try:
                _idle.remove(inbox)
            except ValueError:
                item = inbox.get()  # this thread was chosen just now
            else:
                return


async def wait_uncancelled(future: asyncio.Future[T]) -> T:
    """Wait for a future to the end; raise a cancellation only after it."""
    cancelled: asyncio.CancelledError | None = None
    while not future.done():
        try:
            await asyncio.wait({future})
        except asyncio.CancelledError as error:
            cancelled = error
    result = future.result()
    if cancelled is not None:
        raise cancelled
    return result


def _post(
    loop: asyncio.AbstractEventLoop,
    deliver: Callable[[asyncio.Future[T], V], None],
    future: asyncio.Future[T],
    value: V,
) -> None:
    try:
        loop.call_soon_threadsafe(deliver, future, value)
    except RuntimeError:
        pass  # the loop is closed


def _settle(future: asyncio.Future[T], result: T) -> None:
    if not future.done():
        future.set_result(result)


def _fail(future: asyncio.Future[T], error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)

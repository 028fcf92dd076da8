"""Work that blocks, done in a thread, and a wait for it that nothing cuts short."""

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

# A thread costs more to start than most of what is given to it: one that is done waits a moment for more.
IDLE_SECONDS = 1.0
IDLE_NAME = "waiting for work"

Work = tuple[Callable[[], Callable[[], None]], str]
"""Does the work and gives what delivers its result; and what it is called."""

_idle: list[SimpleQueue[Work]] = []
os.register_at_fork(after_in_child=_idle.clear)  # its threads are the parent's alone


def in_thread(work: Callable[[], T], *, name: str) -> asyncio.Future[T]:
    """Run work that blocks in a thread that does nothing else meanwhile.

    Not in asyncio's pool: its few threads would make a hundred agents wait for each other's graces. What comes
    back is a future and not a task, so that the end of the loop cannot cancel the work.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def run() -> Callable[[], None]:
        try:
            result = Context().run(work)  # what it sets is nothing to whoever has the thread next
        except BaseException as error:  # noqa: BLE001  # it is raised where the future is awaited
            fault = error
            return lambda: _post(loop, _fail, future, fault)
        return lambda: _post(loop, _settle, future, result)

    try:
        _hand_over((run, name))
    except RuntimeError:  # no room for another thread: the loop has to wait, but nothing is left behind
        run()()
    return future


def _hand_over(work: Work) -> None:
    try:
        inbox = _idle.pop()
    except IndexError:
        threading.Thread(target=_serve, args=(work,), name=work[1], daemon=True).start()
    else:
        inbox.put(work)


def _serve(given: Work) -> None:
    """Do one piece of work after another, until there is none for a while."""
    inbox: SimpleQueue[Work] = SimpleQueue()
    thread = threading.current_thread()
    while True:
        work, thread.name = given
        deliver = work()
        thread.name = IDLE_NAME
        _idle.append(inbox)  # before whoever waits for the result is told: they may have more
        deliver()
        del given, work, deliver  # a result is not kept longer than it is wanted
        try:
            given = inbox.get(timeout=IDLE_SECONDS)
        except Empty:
            try:
                _idle.remove(inbox)
            except ValueError:
                given = inbox.get()  # somebody has just chosen this one
            else:
                return


async def undisturbed(future: asyncio.Future[T]) -> T:
    """Wait for it to the end; a cancellation that comes meanwhile is raised only then."""
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
        pass  # the loop is closed: nobody waits for the result any more


def _settle(future: asyncio.Future[T], result: T) -> None:
    if not future.done():
        future.set_result(result)


def _fail(future: asyncio.Future[T], error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)

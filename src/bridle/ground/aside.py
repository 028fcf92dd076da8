"""Work that blocks, done in a thread of its own, and a wait for it that nothing cuts short."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
V = TypeVar("V")


def in_thread(work: Callable[[], T], *, name: str) -> asyncio.Future[T]:
    """Run work that blocks in a thread of its own.

    Not in asyncio's pool: its few threads would make a hundred agents wait for each other's graces. What comes
    back is a future and not a task, so that the end of the loop cannot cancel the work.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def run() -> None:
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001  # it is raised where the future is awaited
            _post(loop, _fail, future, error)
        else:
            _post(loop, _settle, future, result)

    try:
        threading.Thread(target=run, name=name, daemon=True).start()
    except RuntimeError:  # no room for another thread: the loop has to wait, but nothing is left behind
        run()
    return future


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

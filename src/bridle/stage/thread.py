"""A stage for programs that are not asynchronous: it runs in a thread of its own."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

from bridle.errors import InternalError
from bridle.stage.http import Limits
from bridle.stage.script import Script
from bridle.stage.server import Stage

# Listening takes milliseconds; on a machine under heavy load, seconds.
START_SECONDS = 30.0
# Ending cancels every connection; each has two seconds to close.
STOP_SECONDS = 30.0


@contextlib.contextmanager
def running(
    script: Script, *, port: int = 0, record: Path | None = None, limits: Limits | None = None
) -> Iterator[Stage]:
    """Run a stage while the block lasts; its url, port, requests and problems can be read from it."""
    stage = Stage(script, port=port, record=record, limits=limits)
    started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()
    thread = threading.Thread(target=_run, args=(stage, started), name="bridle-stage", daemon=True)
    thread.start()
    loop, stop = started.result(START_SECONDS)
    try:
        yield stage
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(STOP_SECONDS)
        if thread.is_alive():
            raise InternalError(f"the stage did not end within {STOP_SECONDS:g} seconds")


def _run(stage: Stage, started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]]) -> None:
    try:
        asyncio.run(_serve(stage, started))
    except BaseException as error:
        # Before the start the caller's thread raises it; afterwards this thread does.
        if started.done():
            raise
        started.set_exception(error)


async def _serve(stage: Stage, started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]]) -> None:
    stop = asyncio.Event()
    async with stage:
        started.set_result((asyncio.get_running_loop(), stop))
        await stop.wait()

"""A stage for synchronous programs, in a thread of its own."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

from bridle.errors import InternalError
from bridle.stage.answers import Script
from bridle.stage.http import Limits
from bridle.stage.server import Stage

# Listening takes milliseconds; on a machine under heavy load, seconds.
START_SECONDS = 30.0
# The stop cancels every connection; each has two seconds to close.
STOP_SECONDS = 30.0


@contextlib.contextmanager
def running(
    script: Script, *, port: int = 0, record: Path | None = None, limits: Limits | None = None
) -> Iterator[Stage]:
    """Run a stage for the duration of a with block."""
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
            raise InternalError(f"the stage did not stop within {STOP_SECONDS:g} seconds")


def _run(stage: Stage, started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]]) -> None:
    try:
        asyncio.run(_serve(stage, started))
    except BaseException as error:
        # An error before the start is raised in the caller's thread, a later one in this thread.
        if started.done():
            raise
        started.set_exception(error)


async def _serve(stage: Stage, started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]]) -> None:
    stop = asyncio.Event()
    async with stage:
        started.set_result((asyncio.get_running_loop(), stop))
        await stop.wait()

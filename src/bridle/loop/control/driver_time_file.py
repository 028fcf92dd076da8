"""The time of the current driver, in a file of the run: what a killed driver leaves, whatever it was executing."""

from __future__ import annotations

import math
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from bridle.engine.drive.driver_lock import find_driver
from bridle.errors import DiskError
from bridle.ground import disk
from bridle.ground.light import quick_json
from bridle.loop.performers.driver_time import DriverTime

NAME = "driver-time.json"
# At most this much of the time of a killed driver is lost; a write costs less than a millisecond.
INTERVAL_SECONDS = 1.0


def read_driver_times(run: Path) -> dict[str, float]:
    """Return the seconds of drivers by id; nothing for a file that is missing or damaged."""
    try:
        document = disk.read_json(run / NAME)
    except DiskError:
        return {}
    entries = document.items() if isinstance(document, dict) else ()
    return {name: seconds for name, seconds in entries if isinstance(seconds, float) and 0 <= seconds < math.inf}


@asynccontextmanager
async def write_driver_time(run: Path, time: DriverTime) -> AsyncIterator[None]:
    """Write the time again and again while the driver runs; at the end, results and notes have it."""
    import asyncio  # `bridle status` only reads

    has_written = False

    async def write() -> None:
        nonlocal has_written
        while True:
            await asyncio.sleep(INTERVAL_SECONDS)
            holder = find_driver(run)
            if holder is not None and holder.pid == os.getpid():  # else another driver runs, and this one waits
                _replace(run, {**time.earlier, time.driver: time.seconds})
                has_written = True

    writing = asyncio.create_task(write())
    try:
        yield
    finally:
        writing.cancel()
        await asyncio.wait({writing})
        if has_written:
            _replace(run, time.earlier)


def _replace(run: Path, seconds: Mapping[str, float]) -> None:
    try:
        if seconds:
            disk.replace_cache(run / NAME, quick_json.compact(seconds).encode())
        else:
            (run / NAME).unlink(missing_ok=True)
    except (DiskError, OSError):
        pass  # a full disk: a driver that is not killed loses nothing

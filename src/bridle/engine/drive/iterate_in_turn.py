"""Iterate a run after the iteration of another program."""

from __future__ import annotations

import asyncio
from pathlib import Path

from bridle.engine.drive.performer import Say
from bridle.engine.iterate.iterate import LOCK_FILE, Engine
from bridle.engine.iterate.iteration_report import Iteration
from bridle.errors import LockHeld
from bridle.ground import clock
from bridle.ground.lock import FileLock
from bridle.ground.threads import in_thread, wait_uncancelled

# How often the lock of the other iteration is checked.
POLL_SECONDS = 0.25


async def iterate_in_turn(engine: Engine, folder: Path, *, deadline: float, say: Say) -> Iteration:
    """Run one iteration; wait for that of another program, whose hooks may take long, until the deadline."""
    path = folder / LOCK_FILE
    while True:
        while (other := FileLock.holder_of(path)) is not None and clock.monotonic() < deadline:
            say(f"waiting for {other.name} (process {other.pid}) and its hooks")
            await asyncio.sleep(POLL_SECONDS)
        try:
            return await wait_uncancelled(in_thread(engine.iterate, name="iterating"))
        except LockHeld:
            if FileLock.holder_of(path) is None or clock.monotonic() >= deadline:
                raise

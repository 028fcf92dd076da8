"""Wait for the last driver of a run: to take its lock, or to know when it ended.

Separate from `driver_lock`, which commands import that must start fast.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from bridle.engine.drive.driver_lock import LOCK_FILE, find_driver
from bridle.engine.drive.performer import Say
from bridle.errors import LockHeld
from bridle.ground import clock
from bridle.ground.descendants import census
from bridle.ground.lock import FileLock, Holder
from bridle.ground.threads import in_thread, wait_uncancelled

# Enough for a driver that is about to exit.
LOCK_SECONDS = 2.0
# The keeper kills the children of a killed driver after a second; on a loaded machine that takes longer.
KEEPER_SECONDS = 30.0
# How often to look whether the last agent of a killed driver has ended.
POLL_SECONDS = 0.25


async def check_no_driver(folder: Path) -> None:
    """Raise LockHeld if a driver runs, and is not about to exit: for commands that write before they drive."""
    deadline = clock.monotonic() + LOCK_SECONDS
    while (holder := find_driver(folder)) is not None:
        if clock.monotonic() >= deadline:
            raise _second_driver(folder, f"{holder.name} (process {holder.pid}, since {holder.since})", holder)
        await asyncio.sleep(POLL_SECONDS)


async def take_lock(folder: Path, say: Say) -> FileLock:
    """Take the lock that allows one driver; wait while the children of a killed driver are being stopped."""
    try:
        return await _hold(folder, LOCK_SECONDS)
    except LockHeld as refusal:
        holder = refusal.payload
        if not isinstance(holder, Holder) or census.is_alive(holder.pid):
            raise _second_driver(folder, refusal.message, holder) from refusal
    say("waiting until the children of the last driver of this run have ended")
    return await _hold(folder, KEEPER_SECONDS)


def _second_driver(folder: Path, which: str, holder: object) -> LockHeld:
    return LockHeld(
        f"another driver runs {folder.name}: {which}",
        remedy="Wait until it ends or stop that process, then drive the run again.",
        payload=holder,
    )


async def _hold(folder: Path, seconds: float) -> FileLock:
    def hold() -> FileLock:
        return FileLock.hold(folder / LOCK_FILE, holder="bridle drive", wait_seconds=seconds)

    return await wait_uncancelled(in_thread(hold, name="waiting for the driver's lock"))


async def driver_ended_at(folder: Path) -> float | None:
    """Return when the last driver of a run and all its agents had ended; wait for those of a killed one.

    None if that is not known.
    """
    path, deadline = folder / LOCK_FILE, clock.monotonic() + KEEPER_SECONDS
    while FileLock.holder_of(path) is not None and clock.monotonic() < deadline:
        await asyncio.sleep(POLL_SECONDS)
    return FileLock.released_at(path)

"""The lock that allows one run at a time in a working copy. Two would change the same files and branches."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from bridle.errors import LockHeld, UsageError
from bridle.ground.lock import FileLock, Holder
from bridle.run.logs import STATE_FOLDER, private_folder

LOCK_FILE = "loop.lock"
# Enough for a run that is stopping.
LOCK_SECONDS = 2.0


@asynccontextmanager
async def hold_working_copy(repository: Path, run: str) -> AsyncIterator[None]:
    """Hold the lock for a run. Raises UsageError that names its holder."""
    lock = await asyncio.to_thread(_hold, repository, run)
    try:
        yield
    finally:
        lock.release()


def check_unlocked(repository: Path) -> None:
    """Check that no run holds the lock. Raises UsageError that names its holder."""
    _hold(repository, "").release()


def _hold(repository: Path, run: str) -> FileLock:
    path = private_folder(repository, STATE_FOLDER) / LOCK_FILE
    try:
        return FileLock.hold(path, holder=run or "another", wait_seconds=LOCK_SECONDS)
    except LockHeld as refusal:
        holder = refusal.payload
        name = (
            f"{holder.name} (process {holder.pid}, since {holder.since})" if isinstance(holder, Holder) else "unknown"
        )
        raise UsageError(
            f"another run is active in {repository}: {name}",
            remedy="Wait for it, stop it with `bridle stop`, or use `bridle run --worktree`.",
        ) from refusal

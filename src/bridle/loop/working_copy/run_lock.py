"""One run at a time in a working copy: two would change files and branches under each other's feet."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from bridle.errors import LockHeld, UsageError
from bridle.ground.lock import FileLock, Holder
from bridle.run.logs import STATE_FOLDER, private_folder

LOCK_FILE = "loop.lock"
# A run that is on its way out needs no longer.
LOCK_SECONDS = 2.0


@asynccontextmanager
async def occupied(repository: Path, run: str) -> AsyncIterator[None]:
    """Hold a working copy for a run; UsageError says who else does."""
    lock = await asyncio.to_thread(_hold, repository, run)
    try:
        yield
    finally:
        lock.release()


def check_free(repository: Path) -> None:
    """See that no run is at work in a working copy; UsageError says which one is."""
    _hold(repository, "").release()


def _hold(repository: Path, run: str) -> FileLock:
    path = private_folder(repository, STATE_FOLDER) / LOCK_FILE
    try:
        return FileLock.hold(path, holder=run or "another", wait_seconds=LOCK_SECONDS)
    except LockHeld as refusal:
        held = refusal.payload
        who = f"{held.name} (process {held.pid}, since {held.since})" if isinstance(held, Holder) else "another"
        raise UsageError(
            f"a run is at work in {repository} already: {who}",
            remedy="Wait for it, or end it with `bridle stop`; `bridle run --worktree` works beside it.",
        ) from refusal

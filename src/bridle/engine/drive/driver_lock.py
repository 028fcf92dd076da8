"""The lock of a run's driver: which process drives the run."""

from __future__ import annotations

from pathlib import Path

from bridle.ground.descendants import census
from bridle.ground.lock import FileLock, Holder

LOCK_FILE = "bridle-drive.lock"


def find_driver(folder: Path) -> Holder | None:
    """Return the process that drives a run; None without a driver, or while children of a killed one are stopped."""
    holder = FileLock.holder_of(folder / LOCK_FILE)
    return holder if holder is not None and census.is_alive(holder.pid) else None

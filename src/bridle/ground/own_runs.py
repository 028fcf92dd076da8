"""The record of the runs that this user has begun on this machine: a file in BRIDLE_HOME for each.

A run in a cloned repository or an unpacked archive has none. Hooks import this: nothing heavy in here.
"""

from __future__ import annotations

import os
from pathlib import Path

from bridle.errors import DiskError
from bridle.ground import disk
from bridle.ground.light.quick_sha256 import sha256

FOLDER = "runs"
# What a run is created with, and what never changes.
FILES = ("run.json", "inputs.json")
# A plan with its settings is in there.
_LIMIT_BYTES = 64 * 1024 * 1024


def record(run: Path, home: Path, *, folder: Path | None = None) -> None:
    """Record that the user has begun a run; `folder` is where its files are now, if elsewhere."""
    digest = _digest(folder or run)
    try:
        disk.write_atomic(disk.make_private_folder(home / FOLDER) / run.name, digest.encode())
    except DiskError as error:
        raise DiskError(
            f"the run cannot be recorded as yours: {error.message}",
            remedy="Set BRIDLE_HOME to a folder that you can write to.",
            payload=error.payload,
        ) from error


def is_recorded(run: Path, home: Path) -> bool:
    """Return whether the user has begun this run here, and its plan and settings are those that it began with."""
    try:
        known = disk.read_if_exists(home / FOLDER / run.name, 1024)
        return known is not None and known == _digest(run).encode()
    except DiskError:
        return False


def _digest(run: Path) -> str:
    total = sha256()
    for name in FILES:
        content = disk.read_bounded(run / name, _LIMIT_BYTES) if os.path.lexists(run / name) else b""
        total.update(b"%d\0" % len(content) + content)
    return f"sha256:{total.hexdigest()}"

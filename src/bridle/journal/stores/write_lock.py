"""The write lock of a run: our own lock, and respect for the lock of another implementation.

Ours is a kernel lock on a file, which a dying process always releases. The other one is a file that names a process:
it is respected while that process lives, and ignored if the process is dead or the file is empty or garbage.
"""

from __future__ import annotations

import os
import time

from bridle.errors import DiskError, LockHeld
from bridle.ground import disk
from bridle.ground.light.quick_path import Path
from bridle.ground.lock import FileLock
from bridle.journal.format import codec, layout

# A lock is held for some milliseconds, so polling this often gets it soon.
ASK_AGAIN_SECONDS = 0.005

# The lock file of the other implementation has three short fields.
FOREIGN_LOCK_LIMIT_BYTES = 4096


def take(run: Path, owner: str, *, wait_seconds: float) -> FileLock:
    """Take the run's lock while no other implementation holds its own; raise LockHeld with the holder."""
    deadline = time.monotonic() + wait_seconds
    _wait_for_others(run, deadline)  # before taking ours: a failure here creates no lock file
    left = max(0.0, deadline - time.monotonic())
    path = run / layout.LOCK_FILE
    lock = FileLock.hold(path, holder=owner, wait_seconds=left, poll_seconds=ASK_AGAIN_SECONDS)
    try:
        _wait_for_others(run, deadline)
    except BaseException:
        lock.release()
        raise
    return lock


def is_alive(pid: int) -> bool:
    """Return whether a process runs; our own number in an old file is a reused one."""
    if pid <= 0 or pid == os.getpid():
        return False
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True  # of another user
    return True


def _wait_for_others(run: Path, deadline: float) -> None:
    path = run / layout.FOREIGN_LOCK_FILE
    while (note := _read_foreign(path)) is not None and is_alive(note[0]):
        if time.monotonic() >= deadline:
            raise LockHeld(
                f"{path} is held by process {note[0]} ({note[1]}), another program that is still running",
                remedy="Wait until it ends or stop it, then try again.",
            )
        time.sleep(ASK_AGAIN_SECONDS)


def _read_foreign(path: Path) -> tuple[int, str] | None:
    """Return the process and the owner in another implementation's lock; None if it names none."""
    if not os.path.lexists(path):
        return None
    try:
        note = codec.parse_object(disk.read_bounded(path, FOREIGN_LOCK_LIMIT_BYTES))
    except (DiskError, codec.BadText):
        return None
    pid = note.get("pid")
    return (pid, str(note.get("owner"))) if isinstance(pid, int) and not isinstance(pid, bool) else None

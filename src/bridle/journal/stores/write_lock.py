"""A writer's turn at a run: our own lock, and respect for the lock of another implementation.

Ours is the kernel's, on a file of our own: whoever dies, however it dies, has let it go. The other one is a file
that names a process: while that process lives it is waited for; left by a dead one, empty or garbage, it means
nothing and is passed over.
"""

from __future__ import annotations

import os
import time

from bridle.errors import DiskError, LockHeld
from bridle.ground import disk
from bridle.ground.light.quick_path import Path
from bridle.ground.lock import FileLock
from bridle.journal.format import codec, layout

# A turn lasts some milliseconds. Who asks this often gets it soon, and the others no later for it.
ASK_AGAIN_SECONDS = 0.005

# The other implementation's lock file is three short fields.
FOREIGN_LOCK_LIMIT_BYTES = 4096


def take(run: Path, owner: str, *, wait_seconds: float) -> FileLock:
    """Hold the run's lock, with no other implementation at work; LockHeld names who was in the way."""
    deadline = time.monotonic() + wait_seconds
    _wait_for_others(run, deadline)  # before ours is taken: who is refused here has not even made a lock file
    left = max(0.0, deadline - time.monotonic())
    path = run / layout.LOCK_FILE
    lock = FileLock.hold(path, holder=owner, wait_seconds=left, ask_again_seconds=ASK_AGAIN_SECONDS)
    try:
        _wait_for_others(run, deadline)
    except BaseException:
        lock.release()
        raise
    return lock


def is_alive(pid: int) -> bool:
    """Whether a process of that number runs; our own number in an old file is a dead process's, used again."""
    if pid <= 0 or pid == os.getpid():
        return False
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True  # somebody else's
    return True


def _wait_for_others(run: Path, deadline: float) -> None:
    path = run / layout.FOREIGN_LOCK_FILE
    while (note := _read_foreign(path)) is not None and is_alive(note[0]):
        if time.monotonic() >= deadline:
            raise LockHeld(
                f"{path} is held by process {note[0]} ({note[1]}), which is not Bridle's and is still running",
                remedy="Wait until it is done, or stop it and run again.",
            )
        time.sleep(ASK_AGAIN_SECONDS)


def _read_foreign(path: Path) -> tuple[int, str] | None:
    """The process and the owner that another implementation's lock names; None where it names nobody."""
    if not os.path.lexists(path):
        return None
    try:
        note = codec.parse_object(disk.read_bounded(path, FOREIGN_LOCK_LIMIT_BYTES))
    except (DiskError, codec.BadText):
        return None
    pid = note.get("pid")
    return (pid, str(note.get("owner"))) if isinstance(pid, int) and not isinstance(pid, bool) else None

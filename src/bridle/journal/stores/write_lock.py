"""The write lock of a run: our own lock, and respect for the lock of another implementation.

Ours is a kernel lock on a file, which a dying process always releases. The other one is a file that names a process:
it is respected while that process lives, and ignored if the process is dead or younger than the file, or if the file is
empty or garbage.
"""

from __future__ import annotations

import os
import time

from bridle.errors import DiskError, LockHeld
from bridle.ground import disk
from bridle.ground.light.moments import epoch_seconds
from bridle.ground.light.quick_path import Path
from bridle.ground.lock import FileLock
from bridle.journal.format import codec, layout

# A lock is held for some milliseconds, so polling this often gets it soon.
ASK_AGAIN_SECONDS = 0.005

# Clocks of files and processes differ by some milliseconds; process ids are not reused that soon.
CLOCK_ERROR_SECONDS = 1.0

# The start time in /proc/PID/stat, counted after the name of the program.
_START_FIELD = 19

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
    while (note := _read_foreign(path)) is not None and is_alive(note.pid) and not _is_younger(note, path):
        if time.monotonic() >= deadline:
            raise LockHeld(
                f"{path} is held by process {note.pid} ({note.owner}), another program that is still running",
                remedy="Wait until it ends or stop it, then try again.",
            )
        time.sleep(ASK_AGAIN_SECONDS)


class _ForeignLock:
    """The content of another implementation's lock."""

    __slots__ = ("acquired", "owner", "pid")

    def __init__(self, pid: int, owner: str, acquired: float) -> None:
        self.pid = pid
        self.owner = owner
        self.acquired = acquired
        """When it was taken, in seconds since the epoch; infinite where it does not say it."""


def _is_younger(note: _ForeignLock, lock: Path) -> bool:
    """Return whether a process started after the lock was taken: then its number was reused.

    A copy of the run's folder has files with new times.
    """
    try:
        lock_age = time.time() - min(os.stat(lock).st_mtime, note.acquired)
        with open(f"/proc/{note.pid}/stat", "rb") as file:
            started_ticks = int(file.read().rpartition(b")")[2].split()[_START_FIELD])
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - started_ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return False  # it has just ended, or this is not Linux
    return age + CLOCK_ERROR_SECONDS < lock_age


def _read_foreign(path: Path) -> _ForeignLock | None:
    """Return another implementation's lock; None if it names no process."""
    if not os.path.lexists(path):
        return None
    try:
        note = codec.parse_object(disk.read_bounded(path, FOREIGN_LOCK_LIMIT_BYTES))
    except (DiskError, codec.BadText):
        return None
    pid, acquired = note.get("pid"), epoch_seconds(str(note.get("acquiredAt")))
    if not isinstance(pid, int) or isinstance(pid, bool):
        return None
    # One second later: the text was cut to whole seconds.
    return _ForeignLock(pid, str(note.get("owner")), float("inf") if acquired is None else acquired + 1.0)

"""A file lock that the kernel releases when its holder dies."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time

from bridle.errors import DiskError, LockHeld
from bridle.ground import disk
from bridle.ground.light import moments, quick_json
from bridle.ground.light.quick_path import Path

# The interval at which a waiting caller tries again.
POLL_SECONDS = 0.05

# The holder's note is one short line; anything longer is not one.
NOTE_LIMIT_BYTES = 4096


class Holder:
    """The holder of a lock, from its note. Not a dataclass, since every hook imports this module."""

    __slots__ = ("name", "pid", "since", "work")

    def __init__(self, *, pid: int, name: str, since: str, work: str | None = None) -> None:
        self.pid = pid
        self.name = name
        self.since = since
        self.work = work
        """What it was doing, in a form that only it defines."""


class FileLock:
    """A held lock; leaving the `with` block releases it."""

    def __init__(self, path: Path, fd: int, holder: str) -> None:
        self.path = path
        self.predecessor: Holder | None = None
        """The last holder, if it died without releasing the lock."""
        self._holder = holder
        self._fd = fd
        self._is_shared = False

    @classmethod
    def hold(cls, path: Path, *, holder: str, wait_seconds: float = 0, poll_seconds: float = POLL_SECONDS) -> FileLock:
        """Take the lock, or raise LockHeld with the holder's name after the wait.

        Blocks the calling thread. The file is never deleted: two processes could lock two files of the same name.
        """
        deadline = time.monotonic() + wait_seconds
        while (fd := _try_lock(path)) is None:
            if time.monotonic() >= deadline:
                raise _lock_held(path)
            time.sleep(poll_seconds)
        lock = cls(path, fd, holder)
        try:
            lock.predecessor = _read_holder(path)
            lock.note_work(lock.predecessor.work if lock.predecessor else None)
        except BaseException:
            os.close(fd)
            raise
        return lock

    @staticmethod
    def holder_of(path: Path) -> Holder | None:
        """Return the holder of a lock without taking it; None where it is free."""
        try:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            return None  # missing, or not a lock file
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return _read_holder(path)
        finally:
            os.close(fd)
        return None

    def hold_until_agents_end(self) -> None:
        """Keep the lock, if Bridle is killed from now on, until all its agents have ended."""
        from bridle.ground.descendants import keeper_client  # late: imports subprocess

        keeper_client.share_lock(self._fd)
        self._is_shared = True
        os.utime(self._fd, (0, 0))  # until the keeper has ended the agents

    def note_work(self, work: str | None) -> None:
        """Write a note about the work in progress, for the next holder if we die."""
        if not stat.S_ISREG(os.fstat(self._fd).st_mode):
            raise DiskError(f"the lock {self.path} is not a regular file", remedy="Move it.")
        note = {"pid": os.getpid(), "holder": self._holder, "since": moments.iso(time.time_ns()), "work": work}
        # One write over the old note: a kill leaves the old one or the new one.
        line = quick_json.compact(note).encode().ljust(os.fstat(self._fd).st_size - 1) + b"\n"
        os.lseek(self._fd, 0, os.SEEK_SET)
        disk.write_all(self._fd, line)
        if self._is_shared:
            os.utime(self._fd, (0, 0))

    @staticmethod
    def released_at(path: Path) -> float | None:
        """Return when the last holder released the lock, or its agents had ended after it was killed.

        None where that is not known, because the machine or the keeper was stopped too.
        """
        try:
            return os.stat(path).st_mtime or None
        except OSError:
            return None

    def release(self) -> None:
        """Release the lock; a second call does nothing."""
        fd, self._fd = self._fd, -1
        if fd < 0:
            return
        try:
            os.ftruncate(fd, 0)  # the note is for waiting processes
            fcntl.flock(fd, fcntl.LOCK_UN)  # closing is not enough if the keeper has it too
        finally:
            if self._is_shared:
                from bridle.ground.descendants import keeper_client

                keeper_client.unshare_lock(fd)
            os.close(fd)

    def __enter__(self) -> FileLock:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.release()


def _try_lock(path: Path) -> int | None:
    """Return a locked descriptor of the file that is at the path now; None where it is held."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    while True:
        try:
            fd = os.open(path, flags, 0o600)
        except OSError as error:
            is_read_only = error.errno == errno.EROFS
            raise DiskError(
                f"the lock {path} could not be opened: {error.strerror}",
                remedy=disk.READ_ONLY_REMEDY if is_read_only else "Check that its folder exists and can be written.",
                payload=error.errno,
            ) from error
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_current(path, fd):
                return fd
        except BlockingIOError:
            os.close(fd)
            return None
        except OSError as error:
            os.close(fd)
            raise DiskError(
                f"the lock {path} could not be taken: {error.strerror}",
                remedy="Use a folder on a local disk; this file system may not support locks.",
                payload=error.errno,
            ) from error
        os.close(fd)  # the file was removed or replaced since we opened it: lock the new one


def _is_current(path: Path, fd: int) -> bool:
    try:
        return os.path.samestat(os.stat(path, follow_symlinks=False), os.fstat(fd))
    except FileNotFoundError:
        return False


def _lock_held(path: Path) -> LockHeld:
    holder = _read_holder(path)
    if holder is None:
        return LockHeld(
            f"{path} is locked by an unknown process",
            remedy=f"Try again in a moment, or find it with: fuser {path}",
        )
    return LockHeld(
        f"{path} is held by {holder.name} (process {holder.pid}, since {holder.since})",
        remedy="Wait until it is done, or stop that process.",
        payload=holder,
    )


def _read_holder(path: Path) -> Holder | None:
    try:
        text = disk.read_bounded(path, NOTE_LIMIT_BYTES)
        note = quick_json.loads(text) if text else None  # nearly always empty: released
        if not isinstance(note, dict):
            return None
        work = note.get("work")
        return Holder(
            pid=int(note["pid"]),
            name=str(note["holder"]),
            since=str(note["since"]),
            work=work if isinstance(work, str) else None,
        )
    except (DiskError, ValueError, KeyError, TypeError, AttributeError):
        return None  # the holder has not written its note yet

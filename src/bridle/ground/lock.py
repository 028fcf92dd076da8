"""A lock that the kernel holds for us: when its holder dies, however it dies, the lock is free."""

from __future__ import annotations

import fcntl
import os
import stat
import time

from bridle.errors import DiskError, LockHeld
from bridle.ground import disk
from bridle.ground.light import moments, quick_json
from bridle.ground.light.quick_path import Path

# How often a waiting caller asks again: soon enough for a person, rare enough to cost nothing.
ASK_AGAIN_SECONDS = 0.05

# The note about the holder is one short line; anything longer was not written by us.
NOTE_LIMIT_BYTES = 4096


class Holder:
    """Who has the lock, as it wrote down itself; written by hand, since every hook imports this module."""

    __slots__ = ("name", "pid", "since", "work")

    def __init__(self, *, pid: int, name: str, since: str, work: str | None = None) -> None:
        self.pid = pid
        self.name = name
        self.since = since
        self.work = work
        """What it had under way, in its own words."""


class FileLock:
    """A lock that is held; leaving the `with` block lets it go."""

    def __init__(self, path: Path, fd: int, holder: str) -> None:
        self.path = path
        self.predecessor: Holder | None = None
        """The last holder, where it died and left its note: its work was never finished."""
        self._holder = holder
        self._fd = fd
        self._is_shared = False

    @classmethod
    def hold(
        cls, path: Path, *, holder: str, wait_seconds: float = 0, ask_again_seconds: float = ASK_AGAIN_SECONDS
    ) -> FileLock:
        """Take the lock, or raise LockHeld with the holder's name once the wait is over.

        It blocks the calling thread while it waits. The file stays for ever: deleting it would let two
        processes lock two files of the same name.
        """
        deadline = time.monotonic() + wait_seconds
        while (fd := _try(path)) is None:
            if time.monotonic() >= deadline:
                raise _refusal(path)
            time.sleep(ask_again_seconds)
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
        """Who holds a lock now, without taking it: the note of one that died over its work stays. None: nobody."""
        try:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            return None  # there is none, or none that could be held
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return _read_holder(path)
        finally:
            os.close(fd)
        return None

    def outlive_us(self) -> None:
        """From now on, if we are killed, the lock stays locked until all our agents are gone."""
        from bridle.ground.descendants import keeper_client  # brings subprocess along, which a lock alone does not need

        keeper_client.share_lock(self._fd)
        self._is_shared = True

    def note_work(self, work: str | None) -> None:
        """Write down what is under way, for whoever holds the lock next if we die over it."""
        if not stat.S_ISREG(os.fstat(self._fd).st_mode):
            raise DiskError(f"the lock {self.path} is not a regular file", remedy="Move it out of the way.")
        note = {"pid": os.getpid(), "holder": self._holder, "since": moments.iso(time.time_ns()), "work": work}
        # One write that covers the old note: whoever is killed here leaves the old one or the new one.
        line = quick_json.compact(note).encode().ljust(os.fstat(self._fd).st_size - 1) + b"\n"
        os.lseek(self._fd, 0, os.SEEK_SET)
        disk.write_all(self._fd, line)

    def release(self) -> None:
        """Let the lock go; doing it twice is fine."""
        fd, self._fd = self._fd, -1
        if fd < 0:
            return
        try:
            os.ftruncate(fd, 0)  # the note is for those who are refused: nobody is, from here on
            fcntl.flock(fd, fcntl.LOCK_UN)  # closing is not enough where the keeper holds it too
        finally:
            self._unshare(fd)
            os.close(fd)

    def _unshare(self, fd: int) -> None:
        if self._is_shared:
            from bridle.ground.descendants import keeper_client

            keeper_client.unshare_lock(fd)

    def __enter__(self) -> FileLock:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.release()


def _try(path: Path) -> int | None:
    """Return a locked descriptor of the file that stands at the path now, or None when it is held."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    while True:
        try:
            fd = os.open(path, flags, 0o600)
        except OSError as error:
            raise DiskError(
                f"the lock {path} could not be opened: {error.strerror}",
                remedy="Check that its folder exists and can be written.",
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
        os.close(fd)  # somebody removed or replaced the file since we opened it: take the new one


def _is_current(path: Path, fd: int) -> bool:
    try:
        return os.path.samestat(os.stat(path, follow_symlinks=False), os.fstat(fd))
    except FileNotFoundError:
        return False


def _refusal(path: Path) -> LockHeld:
    holder = _read_holder(path)
    if holder is None:
        return LockHeld(
            f"{path} is locked by another process that has not left its name",
            remedy="Try again in a moment, or find it with: fuser " + str(path),
        )
    return LockHeld(
        f"{path} is held by {holder.name} (process {holder.pid}, since {holder.since})",
        remedy="Wait until it is done or stop that process; the lock is free as soon as it ends.",
        payload=holder,
    )


def _read_holder(path: Path) -> Holder | None:
    try:
        text = disk.read_bounded(path, NOTE_LIMIT_BYTES)
        note = quick_json.loads(text) if text else None  # nearly always empty: the last holder ended well
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
        return None  # the holder is between taking the lock and writing its note

"""Files and folders that become durable together: written one by one, then synced side by side.

A disk that is asked for several syncs at once needs hardly longer than for one.
"""

from __future__ import annotations

import _thread  # not threading, which hooks cannot afford
import os

from bridle.ground import disk
from bridle.ground.light.abc_names import Callable
from bridle.ground.light.quick_path import Path


class SyncGroup:
    """Collects what was written and is not durable yet. Whatever refers to it is written after `sync` has returned."""

    __slots__ = ("_files", "_folders")

    def __init__(self) -> None:
        self._files: list[int] = []
        self._folders: dict[str, Path] = {}

    def __enter__(self) -> SyncGroup:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        while self._files:
            os.close(self._files.pop())

    def write_new(self, path: Path, data: bytes) -> None:
        """Write a new file; its folder is not in the group."""
        fd = disk.create_exclusive(path)
        self._files.append(fd)
        os.fchmod(fd, 0o600)  # the umask must not restrict the mode
        disk.write_all(fd, data)

    def write_atomic(self, path: Path, data: bytes) -> None:
        """Replace a file; a reader finds the old content or the new one, unless the power fails before the sync."""
        temporary = disk.temporary_name(path.parent)
        try:
            self.write_new(temporary, data)
            disk.move(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        self.add_folder(path.parent)

    def add_folder(self, folder: Path) -> None:
        """Add a folder, so that the names in it become durable."""
        self._folders[str(folder)] = folder

    def sync(self) -> None:
        """Sync all of it; return when all of it is durable, or raise the first error."""
        others = [_Sync(disk.sync_folder, folder) for folder in self._folders.values()]
        others += [_Sync(disk.sync, fd) for fd in self._files[1:]]
        try:
            for fd in self._files[:1]:
                disk.sync(fd)
        finally:
            errors = [other.wait() for other in others]
        self._folders.clear()
        for error in errors:
            if error is not None:
                raise error


class _Sync:
    """One sync in a thread; the interpreter runs other threads while the disk works."""

    __slots__ = ("_done", "_error", "_sync", "_what")

    def __init__(self, sync: Callable[..., None], what: int | Path) -> None:
        self._sync, self._what = sync, what
        self._error: BaseException | None = None
        self._done = _thread.allocate_lock()
        self._done.acquire()
        try:
            _hand_over(self)
        except RuntimeError:  # no more threads can be started
            self.run()
            self.end()

    def run(self) -> None:
        """Sync, and keep the error for the caller that waits."""
        try:
            self._sync(self._what)
        except BaseException as error:  # noqa: BLE001  # raised where it is waited for
            self._error = error

    def end(self) -> None:
        """Let `wait` return."""
        self._done.release()

    def wait(self) -> BaseException | None:
        """Wait for the end of the sync and return its error."""
        self._done.acquire()
        return self._error


class _Thread:
    """A thread that does one sync after the other, until there is none for IDLE_SECONDS."""

    __slots__ = ("_next", "_sync")

    def __init__(self, first: _Sync) -> None:
        self._sync = first
        self._next = _thread.allocate_lock()
        self._next.acquire()
        _thread.start_new_thread(self._serve, ())

    def give(self, sync: _Sync) -> None:
        """Do a sync; only for a thread that was taken from the idle ones."""
        self._sync = sync
        self._next.release()

    def _serve(self) -> None:
        while True:
            sync = self._sync
            sync.run()
            _idle.append(self)  # before `wait` returns: its caller may have another sync
            sync.end()
            del sync
            if self._next.acquire(timeout=IDLE_SECONDS):
                continue
            try:
                _idle.remove(self)
            except ValueError:
                self._next.acquire()  # this thread was chosen just now
            else:
                return


# Starting a thread takes as long as some syncs: an idle one waits this long for more.
IDLE_SECONDS = 1.0
_idle: list[_Thread] = []
os.register_at_fork(after_in_child=_idle.clear)  # a fork has none of the parent's threads


def _hand_over(sync: _Sync) -> None:
    try:
        thread = _idle.pop()
    except IndexError:
        _Thread(sync)
    else:
        thread.give(sync)

"""Git's own lock against a second `git gc`, held while objects are written that no ref names yet.

`git gc --prune=now` removes such objects. With the lock it ends at once and names the process that holds it; one with
`--auto` ends silently. A `git gc` that runs already and may prune them is waited for.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import NamedTuple

from bridle.ground import clock, disk
from bridle.ground.descendants import census
from bridle.ground.git_folder import find_common_folder
from bridle.workspace.git import Git
from bridle.workspace.repair.ref_lock import file_identity

FILE = "gc.pid"
# A garbage collection of a large repository takes longer, and then what it may remove is not protected.
WAIT_SECONDS = 60.0
# Short, for a `git gc` in a loop leaves little time between two of them.
POLL_SECONDS = 0.002
# Another Bridle holds it for moments. Any other program has the process id of one that was killed.
OTHER_SECONDS = 5.0
_LIMIT_BYTES = 4096
# By default git prunes what is older than two weeks.
_PRUNES = b"--prune="


class _Holders:
    """Who holds the lock of a repository in this process."""

    def __init__(self) -> None:
        self.count = 0
        self.inode: int | None = None
        self.taking = asyncio.Lock()


class _Held(NamedTuple):
    """The repository whose lock a task holds."""

    common: str
    git: Git


_repositories: dict[str, _Holders] = {}
_given_up: dict[Path, tuple[int, int] | None] = {}
"""The lock that was waited for too long."""
_held: ContextVar[_Held | None] = ContextVar("held", default=None)


@asynccontextmanager
async def hold(git: Git) -> AsyncIterator[None]:
    """Keep `git gc` away from a repository; nested calls do nothing."""
    common = find_common_folder(git.folder)
    if common is None or _held.get() is not None:
        yield
        return
    held = _Held(str(common), git)
    await _enter(held)
    token = _held.set(held)
    try:
        yield
    finally:
        if _held.get() is held:
            _leave(held.common)
        _held.reset(token)


@asynccontextmanager
async def released() -> AsyncIterator[None]:
    """Allow `git gc` while the caller, who may hold the lock, waits for an agent or a command."""
    held = _held.get()
    if held is None:
        yield
        return
    token = _held.set(None)
    _leave(held.common)
    try:
        yield
    finally:
        await _enter(held)
        _held.reset(token)


async def _enter(held: _Held) -> None:
    holders = _repositories.setdefault(held.common, _Holders())
    holders.count += 1
    try:
        async with holders.taking:
            if holders.inode is None:
                holders.inode = await _take(Path(held.common, FILE), held.git)
    except BaseException:
        _leave(held.common)
        raise


def _leave(common: str) -> None:
    holders = _repositories[common]
    holders.count -= 1
    if holders.count == 0:
        path, inode = Path(common, FILE), holders.inode
        del _repositories[common]
        if inode is not None and _inode(path) == inode:
            with suppress(OSError):
                path.unlink()


async def _take(path: Path, git: Git) -> int | None:
    """Take the lock; return the inode of its file, or None where it cannot be had."""
    started = since = clock.monotonic()
    last: tuple[int, int] | None = None
    while True:
        limit_seconds = WAIT_SECONDS
        try:
            inode = _try(path)
        except FileExistsError:
            limit_seconds = await _patience(path, git)
        except OSError:
            return None  # the folder cannot be written, or is gone
        else:
            if inode is not None:
                return inode
            limit_seconds = OTHER_SECONDS
        seen = file_identity(path) or file_identity(path.with_name(f"{FILE}.lock"))
        now = clock.monotonic()
        last, since = seen, now if seen != last else since
        is_too_long = now - since >= limit_seconds or now - started >= WAIT_SECONDS
        if is_too_long or (seen is not None and seen == _given_up.get(path)):
            _given_up[path] = seen
            return None
        await asyncio.sleep(POLL_SECONDS if seen is not None else 0)  # at once, before the next one begins


def _try(path: Path) -> int | None:
    """Create the file as git does; return its inode, or None if a `git gc` takes the lock at this moment."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    try:
        inode = os.fstat(fd).st_ino
        disk.write_all(fd, b"%d %b" % (os.getpid(), _host()))
    finally:
        os.close(fd)
    # A git that has not seen the file has its lock, or has replaced the file since.
    is_locked = os.path.lexists(f"{path}.lock")
    if not is_locked and _inode(path) == inode:
        return inode
    if _inode(path) == inode:
        path.unlink(missing_ok=True)
    return None


async def _patience(path: Path, git: Git) -> float:
    """Return how many seconds to wait for the process that holds the lock; remove the lock of one that was killed."""
    seen = _inode(path)
    data = disk.read_part(path, _LIMIT_BYTES)
    if data is None:  # it has ended just now, or it is not a file
        return WAIT_SECONDS if seen is None or _inode(path) != seen else 0.0
    if not data:
        return OTHER_SECONDS
    words = data.split()
    if len(words) != 2 or not words[0].isdigit() or words[1] != _host():
        return 0.0  # on another machine, or before its name was changed
    pid = int(words[0])
    if pid == os.getpid() or not census.is_alive(pid):
        if _inode(path) == seen:
            path.unlink(missing_ok=True)
        return WAIT_SECONDS
    command = disk.read_part(f"/proc/{pid}/cmdline", _LIMIT_BYTES) or b""
    if command and os.path.basename(command.split(b"\0")[0]) != b"git":
        return OTHER_SECONDS
    may_prune = not command or _PRUNES in command or "gc.pruneexpire" in await git.settings()
    return WAIT_SECONDS if may_prune else 0.0


def _host() -> bytes:
    return socket.gethostname().encode("ascii", "replace")


def _inode(path: Path) -> int | None:
    try:
        return path.lstat().st_ino
    except OSError:
        return None

"""The client of the keeper: one for the whole process, started with the first child.

If Bridle is killed, the kernel closes the socket to the keeper, and the keeper ends all registered agents. It holds
shared locks until then, so that no agent is started beside one that is about to end.
"""

from __future__ import annotations

import atexit
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from bridle.errors import ProcessError

# At a normal end the keeper exits at once; this is for a loaded machine.
LEAVE_SECONDS = 2.0

# A keeper that died, for instance out of memory, is restarted this often.
START_LIMIT = 3


def add(token: str, pid: int = 0, create_time: float = 0) -> None:
    """Register an agent, to be ended if we die; call before it starts, and again with its pid."""
    _client.add(token, f"add {token} {pid} {create_time}\n".encode("ascii"))


def add_supervised(token: str, pid: int, create_time: float) -> None:
    """Register an agent with its supervisor, which ends it if we die."""
    _client.add(token, f"supervised {token} {pid} {create_time}\n".encode("ascii"))


def drop(token: str) -> None:
    """Unregister an agent that has ended."""
    _client.drop(token)


def start_child(descriptors: Sequence[int]) -> None:
    """Ask the keeper to start a child below a supervisor; see `Starter.start` for the descriptors."""
    _client.start_child(descriptors)


def replace_keeper() -> None:
    """Kill a keeper that does not respond; the next call starts another one, which gets everything it had."""
    _client.replace()


def share_lock(fd: int) -> None:
    """Keep a lock, if we die, until all agents have ended."""
    _client.share(fd)


def unshare_lock(fd: int) -> None:
    """Stop sharing a lock; call before its descriptor is closed."""
    _client.unshare(fd)


class _KeeperClient:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lines: dict[str, bytes] = {}
        self._locks: set[int] = set()
        self._keeper: _Keeper | None = None
        self._is_hooked = False

    def add(self, token: str, line: bytes) -> None:
        with self._lock:
            self._lines[token] = line
            self._send(line)

    def drop(self, token: str) -> None:
        with self._lock:
            if self._lines.pop(token, None) is not None:
                self._send(f"drop {token}\n".encode("ascii"))

    def start_child(self, descriptors: Sequence[int]) -> None:
        with self._lock:
            self._send(f"start {len(descriptors)}\n".encode("ascii"), descriptors, is_noted=False)

    def replace(self) -> None:
        with self._lock:
            keeper, self._keeper = self._keeper, None
            self._dismiss(keeper)

    def share(self, fd: int) -> None:
        with self._lock:
            self._locks.add(fd)
            self._send(_lock_line(fd), [fd])

    def unshare(self, fd: int) -> None:
        with self._lock:
            if fd in self._locks:
                self._locks.remove(fd)
                self._send(f"unlock {fd}\n".encode("ascii"))

    def _send(self, line: bytes, fds: Sequence[int] = (), *, is_noted: bool = True) -> None:
        """Send a line, to a new keeper if need be; one that `is_noted` is sent to it with all the others."""
        if self._keeper is not None and self._keeper.send(line, fds):
            return
        for _ in range(START_LIMIT):
            self._dismiss(self._keeper)
            self._keeper = None
            if is_noted and not self._lines and not self._locks:
                return
            self._keeper = keeper = _start_keeper()
            self._hook()
            if self._send_all(keeper) and (is_noted or keeper.send(line, fds)):
                return
        raise ProcessError(
            "the keeper, which starts and ends agents, exits at its start",
            remedy=f"Run it to see why: {sys.executable} -I -S {_PROGRAM} </dev/null",
        )

    def _send_all(self, keeper: _Keeper) -> bool:
        has_locks = all(keeper.send(_lock_line(fd), [fd]) for fd in self._locks)
        return has_locks and all(keeper.send(line) for line in self._lines.values())

    def _hook(self) -> None:
        if not self._is_hooked:
            self._is_hooked = True
            atexit.register(self._leave)
            os.register_at_fork(after_in_child=self._forget)

    def _leave(self) -> None:
        with self._lock:
            keeper, self._keeper = self._keeper, None
            self._dismiss(keeper, seconds=LEAVE_SECONDS)

    def _forget(self) -> None:
        """Reset in a fork: the agents are the parent's, and an open socket here would hide its death."""
        self._lock = threading.Lock()
        self._lines, self._locks = {}, set()
        keeper, self._keeper = self._keeper, None
        if keeper is not None:
            keeper.line.close()
            keeper.process.returncode = 0  # not our child: do not wait, do not warn

    def _dismiss(self, keeper: _Keeper | None, *, seconds: float = 0) -> None:
        if keeper is None:
            return
        if not seconds:
            keeper.process.kill()  # it does not read any more; its agents will be registered with another one
        keeper.line.close()
        try:
            keeper.process.wait(timeout=seconds or LEAVE_SECONDS)
        except subprocess.TimeoutExpired:
            keeper.process.returncode = 0  # it is still ending agents, and exits by itself


class _Keeper(NamedTuple):
    process: subprocess.Popen[bytes]
    line: socket.socket

    def send(self, line: bytes, fds: Sequence[int] = ()) -> bool:
        """Send a line, and descriptors with it; return False where the keeper does not read any more."""
        try:
            if fds:
                return socket.send_fds(self.line, [line], [*fds]) == len(line)
            return self.line.send(line) == len(line)
        except (BrokenPipeError, ConnectionError, BlockingIOError):
            return False


_PROGRAM = Path(__file__).with_name("keeper.py")
_client = _KeeperClient()


def _lock_line(fd: int) -> bytes:
    return f"lock {fd}\n".encode("ascii")


def _start_keeper() -> _Keeper:
    # -S skips the search for packages; only on Linux none is needed.
    flags = ["-I", "-S"] if sys.platform == "linux" else ["-I"]
    ours, theirs = socket.socketpair()
    try:
        keeper = subprocess.Popen(
            [sys.executable, *flags, str(_PROGRAM)],
            stdin=theirs.fileno(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            # Without our variables, above all the token; only those that Python needs to find its libraries.
            env={name: value for name, value in os.environ.items() if name.startswith(("LD_", "DYLD_"))},
            start_new_session=True,
        )
    except OSError as error:
        ours.close()
        raise ProcessError(
            f"the keeper, which starts and ends agents, could not be started: {error.strerror}",
            remedy=f"Check that {sys.executable} can be run and that new processes are allowed (ulimit -u).",
            payload=error.errno,
        ) from error
    finally:
        theirs.close()
    ours.settimeout(0)  # never block on a stopped keeper
    return _Keeper(keeper, ours)

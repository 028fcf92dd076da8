"""Bridle's side of the keeper: one for the whole process, started with the first agent.

If Bridle is killed, the kernel closes the socket to the keeper, and the keeper ends all agents still registered.
Locks that it was given stay locked until then, so that nobody starts an agent beside one that is about to end.
"""

from __future__ import annotations

import atexit
import os
import socket
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

from bridle.errors import ProcessError

# The keeper has nothing to do at a normal end but to notice it; this is for a loaded machine.
LEAVE_SECONDS = 2.0

# A keeper that died (say, to the kernel's hunt for memory) is replaced; more than this is a broken machine.
START_LIMIT = 3


def add(token: str, pid: int = 0, create_time: float = 0) -> None:
    """Have the agent with this token ended if we die; call it before the agent starts, and again with its pid."""
    _guard.add(token, f"add {token} {pid} {create_time}\n".encode("ascii"))


def drop(token: str) -> None:
    """Forget an agent that is gone."""
    _guard.drop(token)


def share_lock(fd: int) -> None:
    """Have a lock stay locked, if we die, until all agents are gone."""
    _guard.share(fd)


def unshare_lock(fd: int) -> None:
    """Forget a lock that is let go; call it before the descriptor is closed."""
    _guard.unshare(fd)


class _Guard:
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

    def share(self, fd: int) -> None:
        with self._lock:
            self._locks.add(fd)
            self._send(_lock_line(fd), fd)

    def unshare(self, fd: int) -> None:
        with self._lock:
            if fd in self._locks:
                self._locks.remove(fd)
                self._send(f"unlock {fd}\n".encode("ascii"))

    def _send(self, line: bytes, fd: int | None = None) -> None:
        if self._keeper is not None and self._keeper.tell(line, fd):
            return
        for _ in range(START_LIMIT):
            self._dismiss(self._keeper)
            self._keeper = None
            if not self._lines and not self._locks:
                return
            self._keeper = keeper = _start_keeper()
            self._hook()
            if self._tell_all(keeper):
                return
        raise ProcessError(
            "the keeper, which ends agents if Bridle is killed, does not stay alive",
            remedy=f"Try it by hand: {sys.executable} -I -S {_PROGRAM} </dev/null",
        )

    def _tell_all(self, keeper: _Keeper) -> bool:
        knows_locks = all(keeper.tell(_lock_line(fd), fd) for fd in self._locks)
        return knows_locks and all(keeper.tell(line) for line in self._lines.values())

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
        """In a fork of Bridle: the agents are the parent's, and an open socket here would hide its death."""
        self._lock = threading.Lock()
        self._lines, self._locks = {}, set()
        keeper, self._keeper = self._keeper, None
        if keeper is not None:
            keeper.line.close()
            keeper.process.returncode = 0  # not our child: nothing to wait for, nothing to warn about

    def _dismiss(self, keeper: _Keeper | None, *, seconds: float = 0) -> None:
        if keeper is None:
            return
        if not seconds:
            keeper.process.kill()  # it does not read any more: its agents are about to be given to another one
        keeper.line.close()
        try:
            keeper.process.wait(timeout=seconds or LEAVE_SECONDS)
        except subprocess.TimeoutExpired:
            keeper.process.returncode = 0  # it is still ending agents that were never closed, and leaves by itself


@dataclass(frozen=True)
class _Keeper:
    process: subprocess.Popen[bytes]
    line: socket.socket

    def tell(self, line: bytes, fd: int | None = None) -> bool:
        """Send a line, and a descriptor with it; False when the keeper does not listen any more."""
        try:
            if fd is not None:
                return socket.send_fds(self.line, [line], [fd]) == len(line)
            return self.line.send(line) == len(line)
        except (BrokenPipeError, ConnectionError, BlockingIOError):
            return False


_PROGRAM = Path(__file__).with_name("keeper.py")
_guard = _Guard()


def _lock_line(fd: int) -> bytes:
    return f"lock {fd}\n".encode("ascii")


def _start_keeper() -> _Keeper:
    # -S saves its start the search for packages; elsewhere than on Linux it needs one of them.
    flags = ["-I", "-S"] if sys.platform == "linux" else ["-I"]
    ours, theirs = socket.socketpair()
    try:
        keeper = subprocess.Popen(
            [sys.executable, *flags, str(_PROGRAM)],
            stdin=theirs.fileno(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            # Nothing of ours, above all no token; only what this Python may need to find its libraries.
            env={name: value for name, value in os.environ.items() if name.startswith(("LD_", "DYLD_"))},
            start_new_session=True,
        )
    except OSError as error:
        ours.close()
        raise ProcessError(
            f"the keeper, which ends agents if Bridle is killed, could not be started: {error.strerror}",
            remedy=f"Check that {sys.executable} can be run and that new processes are allowed (ulimit -u).",
            payload=error.errno,
        ) from error
    finally:
        theirs.close()
    ours.settimeout(0)  # never wait: a stopped keeper must not stop us
    return _Keeper(keeper, ours)

"""Bridle's side of the keeper: one for the whole process, started with the first agent.

If Bridle is killed, the kernel closes the pipe to the keeper, and the keeper ends all agents still registered.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import threading
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


class _Guard:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lines: dict[str, bytes] = {}
        self._keeper: subprocess.Popen[bytes] | None = None
        self._is_hooked = False

    def add(self, token: str, line: bytes) -> None:
        with self._lock:
            self._lines[token] = line
            self._send(line)

    def drop(self, token: str) -> None:
        with self._lock:
            if self._lines.pop(token, None) is not None:
                self._send(f"drop {token}\n".encode("ascii"))

    def _send(self, line: bytes) -> None:
        if self._keeper is not None and _write(self._keeper, line):
            return
        for _ in range(START_LIMIT):
            self._dismiss(self._keeper)
            self._keeper = None
            if not self._lines:
                return
            self._keeper = keeper = _start_keeper()
            self._hook()
            if all(_write(keeper, known) for known in self._lines.values()):
                return
        raise ProcessError(
            "the keeper, which ends agents if Bridle is killed, does not stay alive",
            remedy=f"Try it by hand: {sys.executable} -I -S {_PROGRAM} </dev/null",
        )

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
        """In a fork of Bridle: the agents are the parent's, and an open pipe here would hide its death."""
        self._lock = threading.Lock()
        self._lines = {}
        keeper, self._keeper = self._keeper, None
        if keeper is not None and keeper.stdin is not None:
            keeper.stdin.close()
            keeper.returncode = 0  # not our child: nothing to wait for, nothing to warn about

    def _dismiss(self, keeper: subprocess.Popen[bytes] | None, *, seconds: float = 0) -> None:
        if keeper is None or keeper.stdin is None:
            return
        if not seconds:
            keeper.kill()  # it does not read any more: its agents are about to be given to another one
        keeper.stdin.close()
        try:
            keeper.wait(timeout=seconds or LEAVE_SECONDS)
        except subprocess.TimeoutExpired:
            keeper.returncode = 0  # it is still ending agents that were never closed, and will leave by itself


_PROGRAM = Path(__file__).with_name("keeper.py")
_guard = _Guard()


def _start_keeper() -> subprocess.Popen[bytes]:
    # -S saves its start the search for packages; elsewhere than on Linux it needs one of them.
    flags = ["-I", "-S"] if sys.platform == "linux" else ["-I"]
    try:
        keeper = subprocess.Popen(
            [sys.executable, *flags, str(_PROGRAM)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            cwd="/",
            # Nothing of ours, above all no token; only what this Python may need to find its libraries.
            env={name: value for name, value in os.environ.items() if name.startswith(("LD_", "DYLD_"))},
            start_new_session=True,
        )
    except OSError as error:
        raise ProcessError(
            f"the keeper, which ends agents if Bridle is killed, could not be started: {error.strerror}",
            remedy=f"Check that {sys.executable} can be run and that new processes are allowed (ulimit -u).",
            payload=error.errno,
        ) from error
    assert keeper.stdin is not None  # noqa: S101  # for the type checker: it was asked for
    os.set_blocking(keeper.stdin.fileno(), False)  # a stopped keeper must not stop us
    return keeper


def _write(keeper: subprocess.Popen[bytes], line: bytes) -> bool:
    assert keeper.stdin is not None  # noqa: S101  # for the type checker: it was asked for
    try:
        # Below PIPE_BUF a write to a pipe is whole or refused.
        return os.write(keeper.stdin.fileno(), line) == len(line)
    except (BrokenPipeError, BlockingIOError):
        return False

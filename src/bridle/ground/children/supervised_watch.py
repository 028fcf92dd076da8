"""Detect the exit of a child below a supervisor, signal it, and end everything it started."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import threading
import time

from bridle.errors import ProcessError
from bridle.ground.descendants import terminate
from bridle.ground.descendants.supervisor import KILL_SECONDS

# The supervisor needs a moment more than the processes that it kills.
MARGIN_SECONDS = 3.0


class SupervisedWatch:
    """The exit state of a child below a supervisor; the number of a signal is negative."""

    def __init__(self, pid: int, supervisor_pid: int, *, control: int, status: int) -> None:
        self.pid = pid
        self.root_pid = supervisor_pid
        """Of the supervisor."""
        self._control = control
        self._lock = threading.Lock()
        self._received = b""
        self._is_over = False
        self._end_code: int | None = None
        self.exit_code: int | None = None
        self.reached_limit: int | None = None
        """The number of processes above which everything was killed, if there were more."""
        self.fd: int | None = status
        """Readable once the child has ended."""
        os.set_blocking(status, False)

    def poll(self) -> int | None:
        """Return the exit code if the child has ended."""
        with self._lock:
            if self.exit_code is None:
                self._receive()
            return self.exit_code

    def signal(self, sig: signal.Signals) -> None:
        """Send a signal to the child if it has not ended."""
        self._send(f"signal {int(sig)}\n")

    def end_descendants(self, token: str, grace_seconds: float) -> None:
        """End the child and everything it started; raise ProcessError where that fails."""
        self._send(f"end {grace_seconds}\n")
        if not self._wait_over(grace_seconds + KILL_SECONDS + MARGIN_SECONDS):
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.root_pid, signal.SIGKILL)  # it has not closed its files, so the pid is still its own
        if self._end_code is None:
            terminate.end_all(token, None, grace_seconds=grace_seconds)  # of the orphans, those that can still be found
            raise ProcessError(
                f"the supervisor of process {self.pid} was killed: what that process started may still run",
                remedy="Check with ps. A command must not kill its parent; a sandbox prevents it.",
            )
        if self._end_code:
            raise ProcessError(
                f"processes that process {self.pid} started could not be ended",
                remedy="Check them with ps; a process that waits for a disk ends only when the disk responds.",
            )

    def reap(self, *, limit_seconds: float) -> bool:
        """Return False where the supervisor has not ended within the limit; the keeper reaps it."""
        return self._wait_over(limit_seconds)

    def close(self) -> None:
        with self._lock:
            for fd in (self.fd, self._control):
                if fd is not None and fd >= 0:
                    os.close(fd)
            self.fd, self._control = None, -1

    def _send(self, line: str) -> None:
        with self._lock, contextlib.suppress(BrokenPipeError):  # it has ended, and so has everything below it
            if self._control >= 0:
                os.write(self._control, line.encode("ascii"))

    def _wait_over(self, limit_seconds: float) -> bool:
        """Wait until the supervisor has exited; return False at the limit."""
        deadline = time.monotonic() + limit_seconds
        while not self._is_over:
            if self.fd is None:
                return False
            poll = select.poll()
            poll.register(self.fd, select.POLLIN)
            if not poll.poll(max(deadline - time.monotonic(), 0) * 1000):
                return False
            with self._lock:
                self._receive()
        return True

    def _receive(self) -> None:
        """Read once what the supervisor has reported."""
        if self.fd is None or self._is_over:
            return
        try:
            part = os.read(self.fd, 4096)
        except BlockingIOError:
            return
        if not part:
            self._is_over = True
            if self.exit_code is None:  # it was killed, and the child with it
                self.exit_code = -signal.SIGKILL
        *lines, self._received = (self._received + part).split(b"\n")
        for line in lines:
            match line.split():
                case [b"exit", code, others]:
                    self.exit_code = int(code)
                    if others == b"alone":
                        self._is_over, self._end_code = True, 0
                case [b"limit", number]:
                    self.reached_limit = int(number)
                case [b"end", code]:
                    self._is_over, self._end_code = True, int(code)

"""Detect the exit of a child below a supervisor, signal it, and end everything it started."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import threading
import time

from bridle.errors import ProcessError
from bridle.ground.descendants.supervisor import KILL_SECONDS

# The supervisor needs a moment more than the processes that it kills.
MARGIN_SECONDS = 3.0


class SupervisedWatch:
    """The exit state of a child below a supervisor; the number of a signal is negative."""

    def __init__(self, supervisor: subprocess.Popen[bytes], control: int, status: int) -> None:
        self._supervisor = supervisor
        self._control = control
        self._lock = threading.Lock()
        self._received = b""
        self._is_over = False
        self.exit_code: int | None = None
        self.fd: int | None = status
        """Readable once the child has ended."""
        # Written right after the fork. Byte by byte: what follows must leave the descriptor readable.
        line = b""
        while (byte := os.read(status, 1)) not in (b"", b"\n"):
            line += byte
        self.pid = int(line.partition(b" ")[2] or supervisor.pid)
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

    def end_descendants(self, grace_seconds: float) -> None:
        """End the child and everything it started; raise ProcessError where that fails."""
        self._send(f"end {grace_seconds}\n")
        if not self._wait_over(grace_seconds + KILL_SECONDS + MARGIN_SECONDS):
            self._supervisor.kill()
        code = self._supervisor.wait()
        if code < 0:
            raise ProcessError(
                f"the supervisor of process {self.pid} was killed: what that process started may still run",
                remedy="Check with ps. A command must not kill its parent; a sandbox prevents it.",
            )
        if code > 0:
            raise ProcessError(
                f"processes that process {self.pid} started could not be ended",
                remedy="Check them with ps; a process that waits for a disk ends only when the disk responds.",
            )

    def reap(self, *, limit_seconds: float) -> bool:
        """Reap the supervisor; return False where it has not ended within the limit."""
        if not self._wait_over(limit_seconds):
            return False
        self._supervisor.wait()  # returns at once: it has closed its files
        return True

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
                return self._supervisor.poll() is not None
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
            _, code, others = line.split()
            self.exit_code, self._is_over = int(code), others == b"alone"

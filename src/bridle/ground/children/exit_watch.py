"""Detect the exit of a child without reaping it, so that its pid is not reused too early."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time

# The system had discarded the exit code (SIGCHLD was ignored when Bridle was started).
UNKNOWN_EXIT_CODE = 255

# The interval at which a killed child is polled.
POLL_SECONDS = 0.01


class ExitWatch:
    """The exit state of a child; the number of a signal is negative."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._lock = threading.Lock()
        self._is_reaped = False
        self.exit_code: int | None = None
        self.fd = open_handle(process.pid)
        """A pidfd, readable once the child has ended; None where the system has none."""

    def poll(self) -> int | None:
        """Return the exit code if the child has ended."""
        with self._lock:
            if self.exit_code is None:
                self.exit_code = self._peek()
            return self.exit_code

    def signal(self, sig: signal.Signals) -> None:
        """Send a signal to the child if it has not been reaped."""
        with self._lock:
            if self._is_reaped:
                return
            try:
                os.kill(self._process.pid, sig)
            except (ProcessLookupError, PermissionError):
                pass  # ended; or now of another user, and then the last step reports it

    @property
    def root_pid(self) -> int | None:
        """The child's pid until it is reaped; None after."""
        return None if self._is_reaped else self._process.pid

    def reap(self, *, limit_seconds: float) -> bool:
        """Reap the child; return False where it has not ended within the limit."""
        deadline = time.monotonic() + limit_seconds
        while self.poll() is None:
            if time.monotonic() >= deadline:
                return False
            time.sleep(POLL_SECONDS)
        with self._lock:
            self._is_reaped = True
            self._process.wait()  # returns at once: it has ended
        return True

    def close(self) -> None:
        if self.fd is not None:
            os.close(self.fd)
            self.fd = None

    def _peek(self) -> int | None:
        if not hasattr(os, "waitid"):
            # This reaps the child; after it the pid must not be used.
            code = self._process.poll()
            self._is_reaped = code is not None
            return code
        try:
            found = os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            self._is_reaped = True
            return UNKNOWN_EXIT_CODE
        if found is None:
            return None
        return found.si_status if found.si_code == os.CLD_EXITED else -found.si_status


def open_handle(pid: int) -> int | None:
    """Return a pidfd, readable once the process has ended; None where the system has none."""
    try:
        return os.pidfd_open(pid) if hasattr(os, "pidfd_open") else None
    except OSError:  # an old kernel, or one that forbids it
        return None

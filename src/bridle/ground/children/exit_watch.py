"""The end of one child: noticed without reaping it, so that its pid stays its own until we are done with it."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time

# The system had already thrown the exit code away (SIGCHLD was ignored when Bridle was started).
UNKNOWN_EXIT_CODE = 255

# How often the last look at a killed child is repeated.
LOOK_SECONDS = 0.01


class ExitWatch:
    """Knows whether a child has ended, and with which code; a signal's number is negative."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._lock = threading.Lock()
        self._is_reaped = False
        self.exit_code: int | None = None
        self.fd = _open_handle(process.pid)
        """Readable once the child has ended; None where the system has no such thing."""

    def look(self) -> int | None:
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
                pass  # gone; or it has become another user's, and ending it fails by name in the last step

    @property
    def root_pid(self) -> int | None:
        """The child's pid for as long as it cannot be somebody else's."""
        return None if self._is_reaped else self._process.pid

    def reap(self, *, limit_seconds: float) -> bool:
        """Take the child off the process table; False when it has not ended within the limit."""
        deadline = time.monotonic() + limit_seconds
        while self.look() is None:
            if time.monotonic() >= deadline:
                return False
            time.sleep(LOOK_SECONDS)
        with self._lock:
            self._is_reaped = True
            self._process.wait()  # it has ended: this does not wait
        return True

    def close(self) -> None:
        """Give the descriptor back."""
        if self.fd is not None:
            os.close(self.fd)
            self.fd = None

    def _peek(self) -> int | None:
        if not hasattr(os, "waitid"):
            # This reaps the child; from then on its pid must not be used any more.
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


def _open_handle(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid) if hasattr(os, "pidfd_open") else None
    except OSError:  # an old kernel, or one that forbids it
        return None

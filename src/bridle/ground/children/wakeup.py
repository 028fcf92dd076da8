"""Wake a thread that polls descriptors."""

from __future__ import annotations

import os


class Wakeup:
    """A descriptor that any thread can make readable."""

    def __init__(self) -> None:
        # An eventfd is one descriptor where a pipe takes two: that matters with a hundred agents.
        if hasattr(os, "eventfd"):
            self._read_fd = self._write_fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        else:
            self._read_fd, self._write_fd = os.pipe()
            os.set_blocking(self._read_fd, False)
            os.set_blocking(self._write_fd, False)

    def fileno(self) -> int:
        """Return the descriptor that becomes readable on `wake`."""
        return self._read_fd

    def wake(self) -> None:
        """Wake the thread; does nothing after `close`."""
        if self._write_fd < 0:
            return
        try:
            os.write(self._write_fd, (1).to_bytes(8, "little"))
        except BlockingIOError:
            pass  # already readable

    def clear(self) -> None:
        try:
            os.read(self._read_fd, 4096)
        except BlockingIOError:
            pass

    def close(self) -> None:
        for fd in {self._read_fd, self._write_fd} - {-1}:
            os.close(fd)
        self._read_fd = self._write_fd = -1

"""A bell that wakes a thread out of its wait for descriptors."""

from __future__ import annotations

import os


class Wakeup:
    """Rung from any thread, heard by a poll of its descriptor."""

    def __init__(self) -> None:
        # An event descriptor is one descriptor where a pipe takes two: it counts with a hundred agents.
        if hasattr(os, "eventfd"):
            self._heard = self._rung = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        else:
            self._heard, self._rung = os.pipe()
            os.set_blocking(self._heard, False)
            os.set_blocking(self._rung, False)

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when the bell is rung."""
        return self._heard

    def ring(self) -> None:
        """Wake the listener; harmless when nobody listens any more."""
        if self._rung < 0:
            return
        try:
            os.write(self._rung, (1).to_bytes(8, "little"))
        except BlockingIOError:
            pass  # it has been rung so often that it cannot be missed

    def clear(self) -> None:
        """Make the bell silent again."""
        try:
            os.read(self._heard, 4096)
        except BlockingIOError:
            pass

    def close(self) -> None:
        """Give the descriptors back."""
        for fd in {self._heard, self._rung} - {-1}:
            os.close(fd)
        self._heard = self._rung = -1

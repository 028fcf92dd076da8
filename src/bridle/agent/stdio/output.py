"""A queue of lines for standard output, written by a thread so that a slow reader blocks nothing else.

Lines are written in the order of the calls. When the reader is gone, the next call raises OSError.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections import deque

import msgspec

from bridle.agent.stdio.output_events import Event
from bridle.agent.stdio.shorten import shorten_to_fit
from bridle.wire.events.loose_json import to_bytes

# How much may be queued before producers wait; more would let a slow reader fill our memory.
WAITING_LIMIT_BYTES = 8 * 1024 * 1024

# The Python SDK drops the session when a line is longer than 1 MiB.
SDK_LINE_LIMIT_BYTES = 900 * 1024


def one_line(encoded: bytes) -> bytes:
    """Escape the separators U+2028 and U+2029 in JSON, as Claude Code does: some readers of lines cut there."""
    return encoded.replace(b"\xe2\x80\xa8", b"\\u2028").replace(b"\xe2\x80\xa9", b"\\u2029")


class Output:
    """Standard output as a queue of lines."""

    def __init__(self, descriptor: int = 1, *, line_limit_bytes: int | None = None) -> None:
        self._descriptor = descriptor
        self._line_limit = line_limit_bytes
        self._lines: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._changed = threading.Condition()
        self._closing = False
        self._error: OSError | None = None
        self._thread: threading.Thread | None = None

    def event(self, event: Event) -> None:
        """Queue an event as a line."""
        value = msgspec.to_builtins(event)
        line = to_bytes(value)
        if self._line_limit is not None and len(line) > self._line_limit:
            line = shorten_to_fit(value, self._line_limit) or line
        self.write_json(line + b"\n")

    def write_json(self, data: bytes) -> None:
        """Queue JSON as a line for every reader. Raises OSError as `write` does."""
        self.write(one_line(data))

    def write(self, data: bytes) -> None:
        """Queue bytes. Raises OSError if the reader is gone."""
        with self._changed:
            if self._error is not None:
                raise self._error
            self._lines.append(data)
            self._waiting_bytes += len(data)
            if self._thread is None:
                self._thread = threading.Thread(target=self._pump, name="output", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    @property
    def line_limit_bytes(self) -> int | None:
        """The longest line that the reader takes; None for any."""
        return self._line_limit

    @property
    def is_behind(self) -> bool:
        """Whether more than `WAITING_LIMIT_BYTES` is queued."""
        return self._waiting_bytes > WAITING_LIMIT_BYTES

    async def drained(self) -> None:
        """Wait until the queue is empty. Raises OSError if the reader is gone."""
        await asyncio.to_thread(self._wait_until, 0)

    async def caught_up(self) -> None:
        """Wait until the queue is within its limit."""
        if self.is_behind:
            await asyncio.to_thread(self._wait_until, WAITING_LIMIT_BYTES)

    def flush(self, limit_seconds: float | None) -> None:
        """Wait until the queue is empty, without an event loop."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting_bytes == 0 or self._error is not None, limit_seconds)

    def _wait_until(self, limit_bytes: int) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting_bytes <= limit_bytes or self._error is not None)
            if self._error is not None:
                raise self._error

    def _pump(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: bool(self._lines))
                batch = b"".join(self._lines)
                self._lines.clear()
            try:
                _write_all(self._descriptor, batch)
            except OSError as error:
                with self._changed:
                    self._error = error
                    self._lines.clear()
                    self._waiting_bytes = 0
                    self._changed.notify_all()
                return
            with self._changed:
                self._waiting_bytes -= len(batch)
                self._changed.notify_all()


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]

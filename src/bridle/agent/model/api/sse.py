"""Parses server-sent events from chunks of bytes.

Comments, unknown fields and events without data are ignored, as the standard requires.
"""

from __future__ import annotations

from bridle.errors import NetworkError

# An event has at most a whole block; an answer of 128,000 tokens is below a megabyte.
EVENT_LIMIT_BYTES = 64 * 1024 * 1024

_MARK = b"\xef\xbb\xbf"


class Reader:
    """A parser that returns the data of each complete event."""

    def __init__(self, limit_bytes: int = EVENT_LIMIT_BYTES) -> None:
        self._limit_bytes = limit_bytes
        self._parts: list[bytes] = []
        """The incomplete line."""
        self._data: list[bytes] = []
        """The data lines of the incomplete event."""
        self._held_bytes = 0
        self._after_return = False
        self._is_first = True

    def feed(self, chunk: bytes) -> list[bytes]:
        """Add bytes; return the data of every event that they complete."""
        if self._after_return and chunk:
            chunk = chunk.removeprefix(b"\n")  # the rest of a CRLF
            self._after_return = False
        events: list[bytes] = []
        for piece in chunk.splitlines(keepends=True):
            self._held_bytes += len(piece)
            if piece.endswith((b"\n", b"\r")):
                self._end_line(piece.rstrip(b"\r\n"), events)
            else:
                self._parts.append(piece)
            if self._held_bytes > self._limit_bytes:
                raise NetworkError(f"an event is larger than {self._limit_bytes} bytes", kind="garbled")
        self._after_return = chunk.endswith(b"\r") or (self._after_return and not chunk)
        return events

    def finish(self) -> list[bytes]:
        """Return the last event of an ended stream if only the empty line after it is missing."""
        events: list[bytes] = []
        if self._parts:
            self._end_line(b"", events)
        self._end_line(b"", events)
        return events

    def _end_line(self, rest: bytes, events: list[bytes]) -> None:
        line = b"".join([*self._parts, rest]) if self._parts else rest
        self._parts.clear()
        if self._is_first:
            line = line.removeprefix(_MARK)
            self._is_first = False
        if not line:
            if data := b"\n".join(self._data):
                events.append(data)
            self._data.clear()
            self._held_bytes = 0
        elif line.startswith(b"data"):
            name, _, value = line.partition(b":")
            if name == b"data":
                self._data.append(value.removeprefix(b" "))

"""Messages as bytes: lines of a pipe and bodies of responses."""

from __future__ import annotations

from typing import Any

from bridle.agent.mcp.transports.transport import MESSAGE_LIMIT_BYTES, JsonObject
from bridle.wire.events.loose_json import decode_json, to_bytes


def encode(message: JsonObject) -> bytes:
    """Encode a message without line breaks."""
    return to_bytes(message)


def decode(data: bytes) -> list[Any]:
    """Decode a message or a batch of them, lone surrogates as U+FFFD; empty if it is not JSON."""
    try:
        value = decode_json(data)
    except (ValueError, RecursionError):
        return []
    return value if isinstance(value, list) else [value]


class Lines:
    """Cuts a stream of bytes into lines; a line that is too long is dropped while it arrives."""

    def __init__(self, limit_bytes: int = MESSAGE_LIMIT_BYTES) -> None:
        self._limit_bytes = limit_bytes
        self._parts: list[bytes] = []
        self._size_bytes = 0
        self.dropped = 0
        """How many lines were too long."""

    def feed(self, chunk: bytes) -> list[bytes]:
        """Add bytes; return the lines that they complete."""
        *ends, rest = chunk.split(b"\n")
        lines: list[bytes] = []
        for end in ends:
            self._add(end)
            if self._size_bytes <= self._limit_bytes:
                lines.append(b"".join(self._parts))
            self._parts.clear()
            self._size_bytes = 0
        self._add(rest)
        return lines

    def _add(self, part: bytes) -> None:
        was_too_long = self._size_bytes > self._limit_bytes
        self._size_bytes += len(part)
        if self._size_bytes <= self._limit_bytes:
            self._parts.append(part)
        elif not was_too_long:
            self.dropped += 1
            self._parts.clear()

"""The base of the dialects: bytes to lines to objects, without raising.

A dialect defines the events of an object (`decode_object`) and of the end of the stream (`finish`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable

from bridle.wire.events.decode_tolerant import decode_tolerantly
from bridle.wire.events.events import Event, Ignored, Malformed, Skipped
from bridle.wire.events.lines import LINE_LIMIT_BYTES, Lines, Oversize
from bridle.wire.events.loose_json import JsonObject, decode_json
from bridle.wire.events.short_lines import decode_short


class DialectDecoder(ABC):
    """An incremental decoder of one agent run's output."""

    def __init__(self, *, limit_bytes: int = LINE_LIMIT_BYTES) -> None:
        self._lines = Lines(limit_bytes=limit_bytes)
        self._unnamed = 0

    def feed(self, chunk: bytes) -> list[Event]:
        """Add bytes; return the events that they complete."""
        return self._decode_lines(self._lines.feed(chunk))

    def end(self) -> list[Event]:
        """Return the events of the unterminated last line and of the end of the stream."""
        return self._decode_lines(self._lines.end()) + self.finish()

    @abstractmethod
    def decode_object(self, value: JsonObject, raw: bytes) -> list[Event]:
        """Return the events of one object and the bytes it came from."""

    def finish(self) -> list[Event]:
        """Return the events of the end of the stream."""
        return []

    def _new_id(self) -> str:
        """Return an id for a tool call that has none."""
        self._unnamed += 1
        return f"unnamed_{self._unnamed}"

    def _decode_lines(self, lines: Iterable[bytes | Oversize]) -> list[Event]:
        events: list[Event] = []
        for line in lines:
            if isinstance(line, Oversize):
                events.append(Skipped(size_bytes=line.size_bytes))
                continue
            for item in _objects(line):
                events.extend([item] if isinstance(item, Event) else self._decode_safely(*item))
        return events

    def _decode_safely(self, value: JsonObject, raw: bytes) -> list[Event]:
        try:
            return self.decode_object(value, raw)
        except RecursionError:  # decoded, but too deep to encode a part of it again
            return [Malformed(raw=raw, reason="nested too deep")]


def _objects(line: bytes) -> list[Event | tuple[JsonObject, bytes]]:
    """Return the objects on a line, each with its bytes; for anything else its event."""
    known = decode_short(line)
    if known is not None:
        return [*known]
    try:
        value = decode_json(line)
    except (ValueError, RecursionError):
        return [_reread(event) for event in decode_tolerantly(line)]
    if isinstance(value, dict):
        return [(value, line)]
    return [Ignored(raw=line)]


def _reread(event: Event) -> Event | tuple[JsonObject, bytes]:
    """Return the object of one piece of a line that had several."""
    if isinstance(event, Malformed | Ignored):
        return event
    return decode_json(event.raw), event.raw

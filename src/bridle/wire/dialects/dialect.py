"""What every dialect does alike: lines from bytes, objects from lines, and nothing that raises.

A dialect says what an object means (`take`) and what the end of the bytes means (`finish`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from bridle.wire.events.decode_tolerant import decode_tolerantly
from bridle.wire.events.events import Event, Ignored, Malformed, Skipped
from bridle.wire.events.lines import LINE_LIMIT_BYTES, Lines, Oversize
from bridle.wire.events.loose_json import loads


class DialectDecoder(ABC):
    """Turns the bytes of one run of an agent into events as they arrive."""

    def __init__(self, *, limit_bytes: int = LINE_LIMIT_BYTES) -> None:
        self._lines = Lines(limit_bytes=limit_bytes)

    def feed(self, chunk: bytes) -> list[Event]:
        """Take the next bytes; return the events that they complete."""
        return self._take_lines(self._lines.feed(chunk))

    def end(self) -> list[Event]:
        """The bytes are over: return what the last line and the end itself still mean."""
        return self._take_lines(self._lines.end()) + self.finish()

    @abstractmethod
    def take(self, value: dict[str, Any], raw: bytes) -> list[Event]:
        """The events of one object and the bytes that it came from."""

    def finish(self) -> list[Event]:
        """The events that the end of the stream makes."""
        return []

    def _take_lines(self, lines: Iterable[bytes | Oversize]) -> list[Event]:
        events: list[Event] = []
        for line in lines:
            if isinstance(line, Oversize):
                events.append(Skipped(size_bytes=line.size_bytes))
                continue
            for found in _objects(line):
                events.extend([found] if isinstance(found, Event) else self._take(*found))
        return events

    def _take(self, value: dict[str, Any], raw: bytes) -> list[Event]:
        try:
            return self.take(value, raw)
        except RecursionError:  # it could be read, but parts of it cannot be written again
            return [Malformed(raw=raw, reason="nested too deep", text=raw.decode("utf-8", "replace"))]


def _objects(line: bytes) -> list[Event | tuple[dict[str, Any], bytes]]:
    """The objects on a line, each with its bytes; for what is no object, the event that says so."""
    try:
        value = loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return [_reread(event) for event in decode_tolerantly(line)]
    if isinstance(value, dict):
        return [(value, line)]
    return [Ignored(raw=line, text=line.decode("utf-8", "replace"))]


def _reread(event: Event) -> Event | tuple[dict[str, Any], bytes]:
    """Pieces of a line that held several objects, taken apart by the tolerant path."""
    if isinstance(event, Malformed | Ignored):
        return event
    return loads(event.raw.decode("utf-8", "replace")), event.raw

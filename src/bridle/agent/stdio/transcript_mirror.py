"""Events with the lines of transcripts, for `--session-mirror`: a host stores them and can resume from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from bridle.agent.stdio.output import SDK_LINE_LIMIT_BYTES
from bridle.agent.stdio.shorten import shorten_to_fit
from bridle.wire.events.loose_json import to_bytes


def mirror(write: Callable[[bytes], None]) -> Callable[[Path, bytes], None]:
    """Return the function that prints the lines that were written to a transcript."""

    def on_written(path: Path, data: bytes) -> None:
        for event in mirror_events(path, data):
            write(event)

    return on_written


def mirror_events(path: Path, data: bytes, limit_bytes: int = SDK_LINE_LIMIT_BYTES) -> Iterator[bytes]:
    """Yield the events for complete lines of a transcript, each shorter than the limit."""
    head = b'{"type":"transcript_mirror","filePath":' + to_bytes(str(path)) + b',"entries":['
    room = limit_bytes - len(head) - len(b"]}\n")
    parts: list[bytes] = []
    size = 0
    for line in data.splitlines():
        # The host drops the session at a longer event.
        entry = line if len(line) < room else shorten_to_fit(msgspec.json.decode(line), room) or line
        if parts and size + len(entry) + 1 > room:
            yield head + b",".join(parts) + b"]}\n"
            parts, size = [], 0
        parts.append(entry)
        size += len(entry) + 1
    if parts:
        yield head + b",".join(parts) + b"]}\n"

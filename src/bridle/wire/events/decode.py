"""Bytes in, events out. Nothing raises, nothing is dropped, and any cut of the bytes gives the same events.

Two paths lead to the same values. The fast one decodes a line straight into its type and takes what agents
normally print. Whatever it refuses (lone surrogates, NaN, a wrong type, a new block, two objects on one line)
goes down the tolerant one, which builds the event field by field and block by block: see tolerant.py.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import repeat
from typing import Any, cast

import msgspec

from bridle.wire.events.decode_tolerant import decode_tolerantly
from bridle.wire.events.events import Event, Plain, Skipped
from bridle.wire.events.lines import LINE_LIMIT_BYTES, Lines, Oversize
from bridle.wire.events.system import SYSTEM_KINDS, System


class _SystemHead(Event, frozen=True, kw_only=True, tag="system", eq=False, gc=False):
    """Enough of a system line to choose its type."""

    subtype: str


_decode_line = msgspec.json.Decoder(_SystemHead | Plain).decode
_decode_object = msgspec.json.Decoder(dict[str, Any]).decode
_decode_system = {subtype: msgspec.json.Decoder(kind).decode for subtype, kind in SYSTEM_KINDS.items()}
_set = msgspec.structs.force_setattr
_REFUSALS = (msgspec.MsgspecError, ValueError, RecursionError)

# Python refuses integers of more digits than this; a decoder that skips over unused fields would not notice.
# One byte of every 128 shows such a run: it covers at least 33 of them, and nothing else that agents print does.
_INTEGER_DIGITS = 4300
_SAMPLE_BYTES = 128
_RUN_OF_DIGITS = re.compile(rb"[0-9]{33}")


class Decoder:
    """Turns the bytes of one agent run into events as they arrive."""

    def __init__(self, *, limit_bytes: int = LINE_LIMIT_BYTES) -> None:
        self._lines = Lines(limit_bytes=limit_bytes)

    def feed(self, chunk: bytes) -> list[Event]:
        """Take the next bytes; return the events that they complete."""
        return _decode_all(self._lines.feed(chunk))

    def end(self) -> list[Event]:
        """The bytes are over: return what the last line, which had no newline, still holds."""
        return _decode_all(self._lines.end())


def decode(line: bytes) -> list[Event]:
    """Decode one line: no event for a blank one, several where objects were glued together."""
    return _decode_all([line.removesuffix(b"\n")])


def decode_stream(chunks: Iterable[bytes], *, limit_bytes: int = LINE_LIMIT_BYTES) -> Iterator[Event]:
    """Decode a whole stream, chunk by chunk, in memory that does not grow with it."""
    decoder = Decoder(limit_bytes=limit_bytes)
    for chunk in chunks:
        yield from decoder.feed(chunk)
    yield from decoder.end()


def _decode_all(lines: list[bytes | Oversize]) -> list[Event]:
    """Decode a batch in loops that run in C; where a line of it is refused, line by line."""
    whole = cast("list[bytes]", lines)
    try:
        events: list[Event] = list(map(_decode_line, whole))
    except (*_REFUSALS, TypeError):  # TypeError: an Oversize among the lines
        return _decode_each(lines)
    if max(map(len, whole), default=0) > _INTEGER_DIGITS and any(map(_may_hold_absurd_integer, whole)):
        return _decode_each(lines)
    deque(map(_set, events, repeat("raw"), whole), maxlen=0)
    kinds = list(map(type, events))
    index = -1
    for _ in range(kinds.count(_SystemHead)):  # few of many, found at the speed of a search
        index = kinds.index(_SystemHead, index + 1)
        events[index] = _whole_system(cast("_SystemHead", events[index]))
    return events


def _decode_each(lines: list[bytes | Oversize]) -> list[Event]:
    events: list[Event] = []
    for line in lines:
        if isinstance(line, Oversize):
            events.append(Skipped(size_bytes=line.size_bytes))
        elif _may_hold_absurd_integer(line):
            events.extend(decode_tolerantly(line))
        else:
            events.extend(_decode_one(line))
    return events


def _decode_one(line: bytes) -> list[Event]:
    try:
        event = _decode_line(line)
    except _REFUSALS:
        return decode_tolerantly(line)
    _set(event, "raw", line)
    return [_whole_system(event) if isinstance(event, _SystemHead) else event]


def _whole_system(head: _SystemHead) -> Event:
    """The system event for a line whose head is known."""
    decode_kind = _decode_system.get(head.subtype)
    try:
        event = decode_kind(head.raw) if decode_kind else System(subtype=head.subtype, value=_decode_object(head.raw))
    except _REFUSALS:
        [event] = decode_tolerantly(head.raw)
    _set(event, "raw", head.raw)
    return event


def _may_hold_absurd_integer(line: bytes) -> bool:
    # A string of that many digits looks the same; the tolerant path tells them apart.
    return len(line) > _INTEGER_DIGITS and _RUN_OF_DIGITS.search(line[::_SAMPLE_BYTES]) is not None

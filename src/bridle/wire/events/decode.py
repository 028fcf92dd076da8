"""Bytes to events. Nothing raises, nothing is dropped, and any split of the bytes yields the same events.

Two paths yield the same values. The fast one decodes a line straight into its type and accepts what agents
normally print. What it rejects (lone surrogates, NaN, a wrong type, a new block, two objects on one line)
goes to the tolerant one, which builds the event field by field and block by block: see decode_tolerant.py.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import repeat
from typing import cast

import msgspec

from bridle.wire.events.decode_tolerant import decode_tolerantly
from bridle.wire.events.events import Event, Malformed, Plain, Skipped
from bridle.wire.events.lines import LINE_LIMIT_BYTES, Lines, Oversize
from bridle.wire.events.loose_json import JsonObject
from bridle.wire.events.short_lines import NOT_JSON, TEXT_STARTS, decode_short
from bridle.wire.events.system import SYSTEM_KINDS, System


class _SystemHead(Event, frozen=True, kw_only=True, tag="system", eq=False, gc=False):
    """The part of a system line that chooses its type."""

    subtype: str


_decode_line = msgspec.json.Decoder(_SystemHead | Plain).decode
_decode_object = msgspec.json.Decoder(JsonObject).decode
_set = msgspec.structs.force_setattr
_DECODE_ERRORS = (msgspec.MsgspecError, ValueError, RecursionError)

# Python rejects integers of more digits than this; a decoder that skips unused fields would not notice.
# Sampling every 128th byte finds such a run: it covers at least 33 samples, and nothing else that agents print does.
_INTEGER_DIGITS = 4300
_SAMPLE_BYTES = 128
_RUN_OF_DIGITS = re.compile(rb"[0-9]{33}")


class Decoder:
    """An incremental decoder of one agent run's output."""

    def __init__(self, *, limit_bytes: int = LINE_LIMIT_BYTES) -> None:
        self._lines = Lines(limit_bytes=limit_bytes)

    def feed(self, chunk: bytes) -> list[Event]:
        """Add bytes; return the events that they complete."""
        return _decode_all(self._lines.feed(chunk))

    def end(self) -> list[Event]:
        """Return the events of the unterminated last line."""
        return _decode_all(self._lines.end())


def decode(line: bytes) -> list[Event]:
    """Decode one line: no event if it is blank, several if it has several objects."""
    return _decode_all([line.removesuffix(b"\n")])


def decode_stream(chunks: Iterable[bytes], *, limit_bytes: int = LINE_LIMIT_BYTES) -> Iterator[Event]:
    """Decode a stream chunk by chunk, in constant memory."""
    decoder = Decoder(limit_bytes=limit_bytes)
    for chunk in chunks:
        yield from decoder.feed(chunk)
    yield from decoder.end()


def _decode_all(lines: list[bytes | Oversize]) -> list[Event]:
    """Decode a batch in loops that run in C; line by line if one of its lines is rejected."""
    whole = cast("list[bytes]", lines)
    try:
        events: list[Event] = list(map(_decode_line, whole))
    except (*_DECODE_ERRORS, TypeError):  # TypeError: an Oversize among the lines
        return _decode_each(lines)
    if max(map(len, whole), default=0) > _INTEGER_DIGITS and any(map(_may_hold_absurd_integer, whole)):
        return _decode_each(lines)
    deque(map(_set, events, repeat("raw"), whole), maxlen=0)
    kinds = list(map(type, events))
    index = -1
    for _ in range(kinds.count(_SystemHead)):  # few of many, found by a search in C
        index = kinds.index(_SystemHead, index + 1)
        events[index] = _decode_system_event(cast("_SystemHead", events[index]))
    return events


def _decode_each(lines: list[bytes | Oversize]) -> list[Event]:
    decoded = _DecodedLines()
    found = list(filter(None, map(decoded.__getitem__, lines)))
    if not decoded.has_glued:
        return cast("list[Event]", found)
    return [event for line in lines for event in decoded.events(line)]


class _DecodedLines(dict[bytes | Oversize, Event | list[Event]]):
    """Lines with their event, each decoded once: garbage repeats lines, and a frozen event can be returned again."""

    has_glued = False
    """Whether a line has several events; a blank one has an empty list."""

    def __missing__(self, line: bytes | Oversize) -> Event | list[Event]:
        if isinstance(line, bytes) and line and line[0] in TEXT_STARTS:  # nearly all garbage, without a second call
            event = self[line] = Malformed(raw=line, reason=NOT_JSON)
            return event
        events = _decode_one(line)
        self.has_glued |= len(events) > 1
        found = self[line] = events[0] if len(events) == 1 else events
        return found

    def events(self, line: bytes | Oversize) -> list[Event]:
        found = self[line]
        return found if isinstance(found, list) else [found]


def _decode_one(line: bytes | Oversize) -> list[Event]:
    if isinstance(line, Oversize):
        return [Skipped(size_bytes=line.size_bytes)]
    known = decode_short(line)
    if known is not None:
        return known
    if _may_hold_absurd_integer(line):
        return decode_tolerantly(line)
    try:
        event = _decode_line(line)
    except _DECODE_ERRORS:
        return decode_tolerantly(line)
    _set(event, "raw", line)
    return [_decode_system_event(event) if isinstance(event, _SystemHead) else event]


def _decode_system_event(head: _SystemHead) -> Event:
    """Decode the whole system event of a line whose head is known."""
    decode_kind = _system_decoder(head.subtype) if head.subtype in SYSTEM_KINDS else None
    try:
        event = decode_kind(head.raw) if decode_kind else System(subtype=head.subtype, value=_decode_object(head.raw))
    except _DECODE_ERRORS:
        [event] = decode_tolerantly(head.raw)
    _set(event, "raw", head.raw)
    return event


@cache
def _system_decoder(subtype: str) -> Callable[[bytes], Event]:
    """Return the decoder of a system event, created when the first such event is met: that takes a while."""
    return msgspec.json.Decoder(SYSTEM_KINDS[subtype]).decode


def _may_hold_absurd_integer(line: bytes) -> bool:
    # A string of that many digits looks the same; the tolerant path distinguishes them.
    return len(line) > _INTEGER_DIGITS and _RUN_OF_DIGITS.search(line[::_SAMPLE_BYTES]) is not None

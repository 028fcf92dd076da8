"""Amp (`amp -x … --stream-json`): Claude Code's events, with results that have neither tokens nor cost.

A failed result has its reason in `error`, where Claude Code uses `result` or `errors`.
"""

from __future__ import annotations

import msgspec

from bridle.wire.events.decode import Decoder
from bridle.wire.events.events import Event, Result
from bridle.wire.events.lines import LINE_LIMIT_BYTES
from bridle.wire.events.loose_json import from_json


class Amp:
    """A decoder of one `amp -x … --stream-json` run."""

    def __init__(self, *, limit_bytes: int = LINE_LIMIT_BYTES) -> None:
        self._decoder = Decoder(limit_bytes=limit_bytes)

    def feed(self, chunk: bytes) -> list[Event]:
        """Add bytes; return the events that they complete."""
        return [_with_reason(event) for event in self._decoder.feed(chunk)]

    def end(self) -> list[Event]:
        """Return the events of the unterminated last line."""
        return [_with_reason(event) for event in self._decoder.end()]


def _with_reason(event: Event) -> Event:
    if not isinstance(event, Result) or not event.has_failed or event.errors is not None:
        return event
    match from_json(event.raw):
        case {"error": str(reason)}:
            return msgspec.structs.replace(event, errors=[reason])
    return event

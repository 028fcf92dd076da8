"""Amp (`amp -x … --stream-json`): Claude Code's events, with results that name neither tokens nor cost.

A failed result says why in `error`, where Claude Code uses `result` or `errors`.
"""

from __future__ import annotations

import msgspec

from bridle.wire.dialects.tolerant_fields import text
from bridle.wire.events.decode import Decoder
from bridle.wire.events.events import Event, Result
from bridle.wire.events.lines import LINE_LIMIT_BYTES
from bridle.wire.events.loose_json import from_json


class Amp:
    """Reads one `amp -x … --stream-json` run."""

    def __init__(self, *, limit_bytes: int = LINE_LIMIT_BYTES) -> None:
        self._decoder = Decoder(limit_bytes=limit_bytes)

    def feed(self, chunk: bytes) -> list[Event]:
        """Take the next bytes; return the events that they complete."""
        return [_worded(event) for event in self._decoder.feed(chunk)]

    def end(self) -> list[Event]:
        """The bytes are over: return what is left."""
        return [_worded(event) for event in self._decoder.end()]


def _worded(event: Event) -> Event:
    if not isinstance(event, Result) or event.is_error is not True or event.result is not None:
        return event
    value = from_json(event.raw)
    reason = text(value, "error") if isinstance(value, dict) else None
    return event if reason is None else msgspec.structs.replace(event, result=reason)

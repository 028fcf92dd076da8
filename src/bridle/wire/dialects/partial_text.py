"""A text that arrives in deltas: each delta is an event at once, the whole text one at its end."""

from __future__ import annotations

from bridle.wire.dialects import build_events
from bridle.wire.events.events import Assistant, StreamEvent


class PartialText:
    """An unfinished text or reasoning."""

    def __init__(self, kind: str = "text") -> None:
        self._kind = kind
        self._parts: list[str] = []
        self._raw = b""

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self._parts)

    def __bool__(self) -> bool:
        return bool(self._parts)

    def add(self, part: str, raw: bytes, *, session: str | None) -> list[StreamEvent]:
        """Add a delta; return its events."""
        is_first = not self._parts
        self._parts.append(part)
        self._raw = raw
        event = build_events.text_delta(part, raw, session=session, kind=self._kind)
        return [build_events.block_start(raw, session=session, kind=self._kind), event] if is_first else [event]

    def close(self, *, session: str | None, message_id: str | None = None) -> list[Assistant]:
        """Return the whole text with the bytes of its last delta; an empty list without a delta."""
        if not self._parts:
            return []
        whole, raw = self.text, self._raw
        self._parts.clear()
        build = build_events.text_message if self._kind == "text" else build_events.thinking_message
        return [build(whole, raw, session=session, message_id=message_id)]

"""The footer of a turn, from its result."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from bridle.wire.events.decode_tolerant import convert
from bridle.wire.events.events import Result, Usage
from bridle.wire.events.numbers import plausible
from bridle.wire.record.denials import denial_entries, denied_call, denied_tool
from bridle.wire.record.recorder import error_texts, result_text
from bridle.wire.transcript.clip import Clip
from bridle.wire.transcript.items import Denial, Footer, Tokens

KEPT_ERRORS = 20
KEPT_DENIALS = 200


class Origin(Struct, frozen=True):
    """What started the turn."""

    kind: str = ""


def footer_of(event: Result, clip: Clip, limit: int) -> Footer:
    """Return the footer of a result, without an id."""
    duration = plausible(event.duration_ms)
    return Footer(
        id=0,
        subtype=event.subtype or "",
        failed=event.has_failed,
        text=clip(result_text(event.result) or "", limit).text,
        errors=_errors(event, clip, limit),
        cost_usd=plausible(event.total_cost_usd),
        turns=plausible(event.num_turns),
        seconds=None if duration is None else duration / 1000,
        tokens=None if event.usage is None else _tokens(event.usage),
        denials=_denials(event.permission_denials),
        api_error_status=plausible(event.api_error_status),
        terminal_reason=event.terminal_reason,
        stop_reason=event.stop_reason,
        from_background=convert(event.origin, Origin).kind == "task-notification",
    )


def _errors(event: Result, clip: Clip, limit: int) -> tuple[str, ...]:
    texts = error_texts(event.errors)[:KEPT_ERRORS] if event.errors else []
    words = result_text({"content": event.content}) if event.has_failed else None
    return tuple(clip(text, limit).text for text in (*texts, *([words] if words else [])))


def _denials(value: Any) -> tuple[Denial, ...]:
    entries = denial_entries(value)[:KEPT_DENIALS]
    return tuple(Denial(tool=denied_tool(entry), call_id=denied_call(entry) or "") for entry in entries)


def _tokens(usage: Usage) -> Tokens:
    return Tokens(
        input=plausible(usage.input_tokens) or 0,
        output=plausible(usage.output_tokens) or 0,
        cache_read=plausible(usage.cache_read_input_tokens) or 0,
        cache_written=plausible(usage.cache_creation_input_tokens) or 0,
    )

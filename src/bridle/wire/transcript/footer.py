"""The footer of a turn, from its result."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from bridle.wire.events.decode_tolerant import convert
from bridle.wire.events.events import Result, Usage
from bridle.wire.events.numbers import plausible
from bridle.wire.record.denials import denial_entries, denied_call, denied_tool
from bridle.wire.record.result_texts import error_texts, failed_result_text, result_text, unlisted_words
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
        text=clip(_result_text(event), limit).text,
        is_empty=not (event.has_failed or _result_text(event).strip() or _needs_no_text(event)),
        errors=_errors(event, clip, limit),
        cost_usd=_cost(event),
        turns=plausible(event.num_turns),
        seconds=None if duration is None else duration / 1000,
        tokens=None if event.usage is None else _tokens(event.usage),
        denials=_denials(event.permission_denials),
        api_error_status=plausible(event.api_error_status),
        terminal_reason=event.terminal_reason,
        stop_reason=event.stop_reason,
        from_background=convert(event.origin, Origin).kind == "task-notification",
    )


def _needs_no_text(event: Result) -> bool:
    """Return whether a result is complete without text: an object, or that of a command that takes no turn."""
    return event.structured_output is not None or event.num_turns == 0 or not isinstance(event.result, str | None)


def _result_text(event: Result) -> str:
    return (failed_result_text(event) if event.has_failed else result_text(event.result)) or ""


def _cost(event: Result) -> float | None:
    """Return the cost; None where it is not known: an interrupted agent reports 0, and no tokens."""
    cost = plausible(event.total_cost_usd)
    has_tokens = event.usage is not None and _tokens(event.usage) != Tokens()
    return None if cost is None or cost < 0 or (cost == 0 and event.has_failed and not has_tokens) else cost


def _errors(event: Result, clip: Clip, limit: int) -> tuple[str, ...]:
    texts = error_texts(event.errors)[:KEPT_ERRORS] if event.errors else []
    words = unlisted_words(event) if event.has_failed else ""
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

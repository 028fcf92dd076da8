"""The end of a turn: what its result says, in the shape of a footer."""

from __future__ import annotations

from typing import Any

from bridle.wire.events.events import Result, Usage
from bridle.wire.events.numbers import plausible
from bridle.wire.record.recorder import result_text
from bridle.wire.transcript.clip import Clip
from bridle.wire.transcript.items import Denial, Tokens

KEPT_ERRORS = 20
KEPT_DENIALS = 200


def footer_fields(event: Result, clip: Clip, limit: int) -> dict[str, Any]:
    """The fields of the footer for a result."""
    origin = event.origin if isinstance(event.origin, dict) else {}
    return {
        "subtype": event.subtype or "",
        "failed": event.is_error is True,
        "text": clip(result_text(event.result) or "", limit).text,
        "errors": _errors(event.errors, clip, limit),
        "cost_usd": plausible(event.total_cost_usd),
        "turns": plausible(event.num_turns),
        "seconds": None if (duration := plausible(event.duration_ms)) is None else duration / 1000,
        "tokens": None if event.usage is None else _tokens(event.usage),
        "denials": _denials(event.permission_denials),
        "api_error_status": plausible(event.api_error_status),
        "terminal_reason": event.terminal_reason,
        "stop_reason": event.stop_reason,
        "from_background": origin.get("kind") == "task-notification",
    }


def _errors(value: Any, clip: Clip, limit: int) -> tuple[str, ...]:
    entries = value[:KEPT_ERRORS] if isinstance(value, list) else []
    return tuple(clip(entry, limit).text for entry in entries if isinstance(entry, str))


def _denials(value: Any) -> tuple[Denial, ...]:
    entries = value[:KEPT_DENIALS] if isinstance(value, list) else []
    return tuple(
        Denial(tool=_text(entry.get("tool_name")), call_id=_text(entry.get("tool_use_id")))
        for entry in entries
        if isinstance(entry, dict)
    )


def _tokens(usage: Usage) -> Tokens:
    return Tokens(
        input=plausible(usage.input_tokens) or 0,
        output=plausible(usage.output_tokens) or 0,
        cache_read=plausible(usage.cache_read_input_tokens) or 0,
        cache_written=plausible(usage.cache_creation_input_tokens) or 0,
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""

"""The footer of a turn, from its result."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from bridle.wire.events.decode_tolerant import convert
from bridle.wire.events.events import Result, Usage
from bridle.wire.events.numbers import plausible
from bridle.wire.record.recorder import result_text
from bridle.wire.transcript.clip import Clip
from bridle.wire.transcript.items import Denial, Footer, Tokens

KEPT_ERRORS = 20
KEPT_DENIALS = 200


class Origin(Struct, frozen=True):
    """What started the turn."""

    kind: str = ""


class DenialEntry(Struct, frozen=True):
    """A refused call in a result's list."""

    tool_name: str = ""
    tool_use_id: str = ""


def footer_of(event: Result, clip: Clip, limit: int) -> Footer:
    """Return the footer of a result, without an id."""
    duration = plausible(event.duration_ms)
    return Footer(
        id=0,
        subtype=event.subtype or "",
        failed=event.is_error is True,
        text=clip(result_text(event.result) or "", limit).text,
        errors=_errors(event.errors, clip, limit),
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


def _errors(value: Any, clip: Clip, limit: int) -> tuple[str, ...]:
    entries = value[:KEPT_ERRORS] if isinstance(value, list) else []
    return tuple(clip(entry, limit).text for entry in entries if isinstance(entry, str))


def _denials(value: Any) -> tuple[Denial, ...]:
    entries = value[:KEPT_DENIALS] if isinstance(value, list) else []
    denials = (convert(entry, DenialEntry) for entry in entries if isinstance(entry, dict))
    return tuple(Denial(tool=denial.tool_name, call_id=denial.tool_use_id) for denial in denials)


def _tokens(usage: Usage) -> Tokens:
    return Tokens(
        input=plausible(usage.input_tokens) or 0,
        output=plausible(usage.output_tokens) or 0,
        cache_read=plausible(usage.cache_read_input_tokens) or 0,
        cache_written=plausible(usage.cache_creation_input_tokens) or 0,
    )

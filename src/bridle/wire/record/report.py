"""A record and its outcome as one JSON document, as `inspect --json` and `ask --json` print it."""

from __future__ import annotations

import json
from typing import Any

from bridle.wire.events.loose_json import JsonObject, without_surrogates
from bridle.wire.record.outcome import Outcome
from bridle.wire.record.record import Record, Tally

_COUNTS = (
    "input_tokens",
    "output_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
    "cached_input_tokens",
    "reasoning_output_tokens",
)


def report_document(record: Record, outcome: Outcome) -> JsonObject:
    """Return every field that programs may rely on."""
    ending = {"session_forked": outcome.session_forked, "exit_code": outcome.exit_code}
    return {**_verdict(record, outcome), **_identity(record), **_figures(record), **ending}


def report_json(value: JsonObject) -> str:
    """Encode a document as portable JSON: ASCII with escapes, null for NaN and infinities, U+FFFD for surrogates."""
    try:
        return json.dumps(without_surrogates(value), allow_nan=False)
    except (ValueError, RecursionError):
        return json.dumps({name: _encodable(item) for name, item in value.items()}, allow_nan=False)


def _encodable(value: Any) -> Any:
    """Return the value without NaN and infinities; None if it is nested too deep or has too many digits."""
    try:
        return json.loads(json.dumps(without_surrogates(value)), parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return None


def _verdict(record: Record, outcome: Outcome) -> JsonObject:
    return {
        "output": record.output,
        "main_thread_text": record.main_thread_text,
        "final_text": outcome.final_text,
        "result_subtype": record.result_subtype,
        "error": outcome.error,
        "error_category": outcome.category,
        "run_error": outcome.run_error,
        "run_error_reason": outcome.reason,
        "succeeded": outcome.succeeded,
        "succeeded_cleanly": outcome.succeeded_cleanly,
        "degraded": outcome.degraded,
        "warnings": list(outcome.warnings),
        "parse_errors": record.parse_errors,
        "unknown_events": record.unknown_events,
        "policy": outcome.policy,
    }


def _identity(record: Record) -> JsonObject:
    return {
        "session_id": record.session_id,
        "model": record.model,
        "version": record.version,
        "cwd": record.cwd,
        "tools": None if record.tools is None else list(record.tools),
        "permission_mode": record.permission_mode,
        "api_key_source": record.api_key_source,
        "permission_denials": record.permission_denials,
    }


def _figures(record: Record) -> JsonObject:
    return {
        **_tokens(record.usage),
        "usage_estimate": _estimate(record),
        "total_cost_usd": record.reported_cost_usd,
        "model_usage": record.model_usage,
        "num_turns": record.num_turns,
        "duration_ms": record.duration_ms,
        "duration_api_ms": record.duration_api_ms,
        "stop_reason": record.stop_reason,
        "terminal_reason": record.terminal_reason,
        "api_error_status": record.failure.api_error_status if record.failure else None,
        "api_retries": record.api_retries,
        "rate_limit_status": record.rate_limit_status,
        "resets_at": record.resets_at,
        "structured_output": record.structured_output,
        "tool_uses": record.tool_uses,
        "tool_results": record.tool_results,
        "tool_errors": record.tool_errors,
        "events": record.events,
        "results": record.results,
    }


def _tokens(usage: Tally) -> dict[str, int]:
    return {name: getattr(usage, name) for name in _COUNTS}


def _estimate(record: Record) -> dict[str, int] | None:
    """Return the estimated tokens if no result has any, or a result leaves out messages."""
    is_complete = record.usage != Tally() and record.uncounted == Tally()
    return None if is_complete or record.usage_estimate is None else _tokens(record.tokens)

"""The response to a prompt, from the result event of its turn. Pure."""

from __future__ import annotations

from bridle.agent.acp.json_rpc import AUTHENTICATION_REQUIRED, INTERNAL_ERROR, RpcError
from bridle.wire.events.loose_json import JsonObject

_STOP_REASONS = {"max_tokens": "max_tokens", "model_context_window_exceeded": "max_tokens"}


def prompt_response(result: JsonObject, error: str | None) -> JsonObject:
    """Return the response to a prompt; raise RpcError if the turn failed. `error` is the kind of a failed request."""
    stop_reason = _stop_reason(result, error)
    if stop_reason is None:
        texts = result.get("errors") or [result.get("result") or "the turn failed"]
        code = AUTHENTICATION_REQUIRED if error == "authentication_failed" else INTERNAL_ERROR
        raise RpcError(code, "; ".join(map(str, texts)), {"errorKind": error} if error else None)
    return {"stopReason": stop_reason, "usage": _usage(result.get("usage") or {})}


def _stop_reason(result: JsonObject, error: str | None) -> str | None:
    """Return why the turn ended; None if it failed."""
    if str(result.get("terminal_reason")).startswith("aborted"):
        return "cancelled"
    if result.get("stop_reason") == "refusal" and error in (None, "invalid_request"):
        return "refusal"
    if result.get("subtype") == "error_max_turns":
        return "max_turn_requests"
    if result.get("is_error"):
        return None
    return _STOP_REASONS.get(str(result.get("stop_reason")), "end_turn")


def _usage(usage: JsonObject) -> JsonObject:
    names = {
        "inputTokens": "input_tokens",
        "outputTokens": "output_tokens",
        "cachedReadTokens": "cache_read_input_tokens",
        "cachedWriteTokens": "cache_creation_input_tokens",
    }
    counts = {shown: usage.get(name) or 0 for shown, name in names.items()}
    return {**counts, "totalTokens": sum(counts.values())}

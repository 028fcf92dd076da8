"""The texts and error kinds of turns that end without an answer. Pure.

Programs match these texts, so they are those of Claude Code, except that what they advise exists here.
"""

from __future__ import annotations

from msgspec import Struct

from bridle.agent.model.api.request_errors import LONGEST_RETRY_AFTER_SECONDS, OVERLOADED_ATTEMPTS, RequestError
from bridle.errors import ModelFailure
from bridle.ground import clock

NOT_LOGGED_IN = (
    "Not logged in · Run bridle-agent auth login, or bridle-agent auth login --from-claude to use the login of Claude"
    " Code, or set ANTHROPIC_API_KEY"
)
_CUT_AFTER_BLOCKS = "API Error: Connection closed mid-response. The response above may be incomplete."
_NOT_JSON = "API Error: Failed to parse JSON"
_NO_ANSWER = (
    "API Error: API returned an empty or malformed response (HTTP 200) — "
    "check for a proxy or gateway intercepting the request"
)
_LOST = "API Error: Connection to the API was lost (ECONNRESET). This is usually temporary — try again."
# The names of connection errors in Bun, which Claude Code runs on.
_CONNECTION = {"refused": "ConnectionRefused", "unreachable": "FailedToOpenSocket", "reset": "ECONNRESET"}
_OFFICIAL = "api.anthropic.com"


class RequestContext(Struct, frozen=True):
    """What the texts depend on besides the error."""

    where: str
    """Host and port of the endpoint."""
    model_shown: str
    has_key: bool
    """Whether requests use an API key rather than a login token."""


def not_logged_in() -> ModelFailure:
    """Return the failure for missing credentials."""
    return ModelFailure(NOT_LOGGED_IN, error="authentication_failed")


def model_refused(stop_details: object, request_id: str | None) -> ModelFailure:
    text = "API Error: The model refused this request. Rephrase it in a new session, or choose another model."
    if request_id is not None:
        text += f"\n\nRequest ID: {request_id}"
    return ModelFailure(text, error="invalid_request", request_id=request_id, payload=stop_details)


def retry_error(error: RequestError) -> str:
    """Return the error name that `system/api_retry` reports."""
    if error.is_overload:
        return "overloaded"
    match error.status:
        case 401:
            return "authentication_failed"
        case 429:
            return "rate_limit"
        case 408 | 409:
            return "server_error"
        case _:
            return "server_error" if error.is_server_fault else "unknown"


def overloaded_too_often(context: RequestContext) -> ModelFailure:
    """Return the failure for repeated overload errors."""
    return ModelFailure(
        "API Error: Repeated 529 Overloaded errors. The API is at capacity — this is usually temporary. "
        f"Try again in a moment. {_if_it_persists(context.where)}",
        error="server_error",
        payload=OVERLOADED_ATTEMPTS,
    )


def request_failure(error: RequestError, context: RequestContext) -> ModelFailure:
    """Return the failure of a turn whose request cannot be retried."""
    text, kind, reason = _describe(error, context)
    return ModelFailure(
        text,
        error=kind,
        status=error.status,
        request_id=error.request_id,
        terminal_reason=reason,
        payload=error,
    )


def after_blocks(error: RequestError) -> tuple[str, str]:
    """Return text and kind of an error after a tool was already called."""
    match error.kind:
        case "stream":
            return f"API Error: {error.message}", "unknown"
        case "not_json" | "garbled":
            return _NOT_JSON, "unknown"
    return _CUT_AFTER_BLOCKS, "server_error"


def is_too_long(error: RequestError) -> bool:
    """Return whether the conversation exceeds the context window."""
    return error.status in (400, 413) and "prompt is too long" in error.message.lower()


def _describe(error: RequestError, context: RequestContext) -> tuple[str, str, str]:
    """Return the text, the kind, and the terminal reason."""
    if error.status is None:
        return (*_connection(error), "completed")
    if is_too_long(error):
        size = error.message[len("prompt is too long") :].lstrip(": ") if _starts_with_limit(error) else error.message
        return f"Prompt is too long · {size}".rstrip("· "), "invalid_request", "prompt_too_long"
    if error.status == 413:
        return "Request too large (max 32MB). Try with a smaller file.", "invalid_request", "image_error"
    return (*_status(error, context), "completed")


def _starts_with_limit(error: RequestError) -> bool:
    return error.message.lower().startswith("prompt is too long")


def _status(error: RequestError, context: RequestContext) -> tuple[str, str]:
    text = f"API Error: {error.status} {error.message}"
    match error.status:
        case 401 if "x-api-key" in error.message.lower():
            invalid = "Invalid API key · Fix external API key" if context.has_key else NOT_LOGGED_IN
            return invalid, "authentication_failed"
        case 401 | 403:
            return f"Failed to authenticate. {text} {error.advice}".rstrip(), "authentication_failed"
        case 404:
            missing = (
                f"There's an issue with the selected model ({context.model_shown}). It may not exist or you may not "
                "have access to it. Run --model to pick a different model."
            )
            return f"{missing} {error.advice}".rstrip(), "model_not_found"
        case 429 if error.used_up is not None:
            return error.used_up.text(clock.now().astimezone()), "rate_limit"
        case 429:
            return f"API Error: Request rejected (429) · {error.message}{_when(error)}", "rate_limit"
        case 400 if "credit balance is too low" in error.message.lower():
            return "Credit balance is too low", "billing_error"
    if not error.is_server_fault:
        return text, "unknown"
    temporary = "This is a server-side issue, usually temporary — try again in a moment."
    return f"{text}. {temporary} {_if_it_persists(context.where)}", "server_error"


def _when(error: RequestError) -> str:
    """Return when to try again, if that is too late to wait for."""
    seconds = error.retry_after_seconds
    if seconds is None or seconds <= LONGEST_RETRY_AFTER_SECONDS:
        return ""
    return f" · Try again in {round(seconds)} seconds"


def _connection(error: RequestError) -> tuple[str, str]:
    match error.kind:
        case "slow":
            return "Request timed out", "server_error"
        case "cut":
            return _LOST, "server_error"
        case "credential":
            return f"API Error: {error.message}", "authentication_failed"
        case "not_json":
            return _NOT_JSON, "unknown"
        case "garbled":
            return _NO_ANSWER, "unknown"
        case "stream":
            return f"API Error: {error.message}", "unknown"
        case kind if kind in _CONNECTION:
            return f"API Error: Unable to connect to API ({_CONNECTION[kind]})", "server_error"
    return f"API Error: Unable to connect to API ({error.message})", "server_error"


def _if_it_persists(where: str) -> str:
    if where == _OFFICIAL:
        return "If it persists, check https://status.claude.com."
    return f"If it persists, check your inference gateway ({where})."

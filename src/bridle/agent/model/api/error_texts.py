"""The words and kinds under which a turn ends when the model gave no answer. Pure.

Programs look for these texts, so they have the measured form.
"""

from __future__ import annotations

from msgspec import Struct

from bridle.agent.model.api.request_errors import OVERLOADED_ATTEMPTS, RequestError
from bridle.errors import ModelFailure

NOT_LOGGED_IN = "Not logged in · Please run /login"
_CUT_AFTER_BLOCKS = "API Error: Connection closed mid-response. The response above may be incomplete."
_NOT_JSON = "API Error: Failed to parse JSON"
_NO_ANSWER = (
    "API Error: API returned an empty or malformed response (HTTP 200) — "
    "check for a proxy or gateway intercepting the request"
)
_LOST = "API Error: Connection to the API was lost (ECONNRESET). This is usually temporary — try again."
# What Bun, under the program whose texts these are, calls the ways in which there is no connection.
_CONNECTION = {"refused": "ConnectionRefused", "unreachable": "FailedToOpenSocket", "reset": "ECONNRESET"}
_OFFICIAL = "api.anthropic.com"


class RequestContext(Struct, frozen=True):
    """What the words depend on besides the trouble."""

    where: str
    """Host and port of the endpoint."""
    model_shown: str
    has_key: bool
    """Whether a key was sent, and not a token of a login."""


def not_logged_in() -> ModelFailure:
    """There is nothing to show to the endpoint."""
    return ModelFailure(NOT_LOGGED_IN, error="authentication_failed")


def model_refused(stop_details: object, request_id: str | None) -> ModelFailure:
    """The model would not answer."""
    text = "API Error: The model refused this request. Put it in other words in a new session, or choose another model."
    if request_id is not None:
        text += f"\n\nRequest ID: {request_id}"
    return ModelFailure(text, error="invalid_request", request_id=request_id, payload=stop_details)


def retry_error(trouble: RequestError) -> str:
    """What `system/api_retry` calls it."""
    if trouble.is_overload:
        return "overloaded"
    match trouble.status:
        case 401:
            return "authentication_failed"
        case 429:
            return "rate_limit"
        case 408 | 409:
            return "server_error"
        case _:
            return "server_error" if trouble.is_server_fault else "unknown"


def overloaded_too_often(situation: RequestContext) -> ModelFailure:
    """The model said too often that it is overloaded."""
    return ModelFailure(
        "API Error: Repeated 529 Overloaded errors. The API is at capacity — this is usually temporary. "
        f"Try again in a moment. {_if_it_persists(situation.where)}",
        error="server_error",
        payload=OVERLOADED_ATTEMPTS,
    )


def request_failure(trouble: RequestError, situation: RequestContext) -> ModelFailure:
    """The end of a turn whose request failed for good."""
    text, error, reason = _told(trouble, situation)
    return ModelFailure(
        text,
        error=error,
        status=trouble.status,
        request_id=trouble.request_id,
        terminal_reason=reason,
        payload=trouble,
    )


def after_blocks(trouble: RequestError) -> tuple[str, str]:
    """The text and the kind of trouble that came when a tool had been called already."""
    match trouble.kind:
        case "stream":
            return f"API Error: {trouble.message}", "unknown"
        case "not_json" | "garbled":
            return _NOT_JSON, "unknown"
    return _CUT_AFTER_BLOCKS, "server_error"


def is_too_long(trouble: RequestError) -> bool:
    """Whether the conversation does not fit into the model's window."""
    return trouble.status in (400, 413) and "prompt is too long" in trouble.message.lower()


def _told(trouble: RequestError, situation: RequestContext) -> tuple[str, str, str]:
    """The text, the kind, and the reason of the turn's end."""
    if trouble.status is None:
        return (*_connection(trouble), "completed")
    if is_too_long(trouble):
        size = (
            trouble.message[len("prompt is too long") :].lstrip(": ") if _names_it_first(trouble) else trouble.message
        )
        return f"Prompt is too long · {size}".rstrip("· "), "invalid_request", "prompt_too_long"
    if trouble.status == 413:
        return "Request too large (max 32MB). Try with a smaller file.", "invalid_request", "image_error"
    return (*_status(trouble, situation), "completed")


def _names_it_first(trouble: RequestError) -> bool:
    return trouble.message.lower().startswith("prompt is too long")


def _status(trouble: RequestError, situation: RequestContext) -> tuple[str, str]:
    said = f"API Error: {trouble.status} {trouble.message}"
    match trouble.status:
        case 401:
            text = "Invalid API key · Fix external API key" if situation.has_key else NOT_LOGGED_IN
            return text, "authentication_failed"
        case 403:
            return f"Failed to authenticate. {said}", "authentication_failed"
        case 404:
            text = (
                f"There's an issue with the selected model ({situation.model_shown}). It may not exist or you may not "
                "have access to it. Run --model to pick a different model."
            )
            return text, "model_not_found"
        case 429:
            return f"API Error: Request rejected (429) · {trouble.message}", "rate_limit"
        case 400 if "credit balance is too low" in trouble.message.lower():
            return "Credit balance is too low", "billing_error"
    if not trouble.is_server_fault:
        return said, "unknown"
    passing = "This is a server-side issue, usually temporary — try again in a moment."
    return f"{said}. {passing} {_if_it_persists(situation.where)}", "server_error"


def _connection(trouble: RequestError) -> tuple[str, str]:
    match trouble.kind:
        case "slow":
            return "Request timed out", "server_error"
        case "cut":
            return _LOST, "server_error"
        case "credential":
            return f"API Error: {trouble.message}", "authentication_failed"
        case "not_json":
            return _NOT_JSON, "unknown"
        case "garbled":
            return _NO_ANSWER, "unknown"
        case "stream":
            return f"API Error: {trouble.message}", "unknown"
        case kind if kind in _CONNECTION:
            return f"API Error: Unable to connect to API ({_CONNECTION[kind]})", "server_error"
    return f"API Error: Unable to connect to API ({trouble.message})", "server_error"


def _if_it_persists(where: str) -> str:
    if where == _OFFICIAL:
        return "If it persists, check https://status.claude.com."
    return f"If it persists, check your inference gateway ({where})."

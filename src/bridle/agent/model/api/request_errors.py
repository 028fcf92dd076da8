"""Why one request failed, and whether and when it is retried. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from bridle.agent.model.api.usage_limits import UsageLimit, usage_limit
from bridle.errors import EndpointError, NetworkError

# Exponential backoff as in Claude Code: 0.5, 1, 2, 4, 8, 16, 32, 32, … seconds, and up to a quarter more so that
# clients do not retry at the same moment.
FIRST_DELAY_SECONDS = 0.5
LONGEST_DELAY_SECONDS = 32.0
JITTER = 0.25
# Ten retries take three minutes; an overload or a restart of the endpoint is over by then, or takes hours.
MAX_RETRIES = 10
# With a longer `retry-after` the run ends with the error instead of waiting: a runner can pause, or do other work.
LONGEST_RETRY_AFTER_SECONDS = 600.0
# How often a model in high demand may be overloaded before the request fails.
OVERLOADED_ATTEMPTS = 3

# The endpoint's token counts of the same prompt may differ slightly.
SPARE_TOKENS = 1000
# With less room than this the conversation must be compacted instead.
LEAST_TOKENS = 3000

OVERLOADED = 529
_RETRIED = frozenset({401, 408, 409, 429})


class RequestError(Struct, frozen=True):
    """Why one request failed."""

    kind: str
    """`status`, `stream` (an error event inside the stream), `garbled`, or the kind of a NetworkError."""
    message: str
    status: int | None = None
    type: str | None = None
    """The endpoint's error type, such as `overloaded_error`."""
    request_id: str | None = None
    retry_after_seconds: float | None = None
    should_retry: bool | None = None
    """What the server says about retrying."""
    raw: str = ""
    """The error document as received."""
    limit: UsageLimit | None = None
    """The usage limit of the subscription, if the response tells of one."""
    advice: str = ""
    """What the user can do, added to the message."""

    @property
    def used_up(self) -> UsageLimit | None:
        """The usage limit that is reached; it is not waited for."""
        is_rejected = self.status == 429 and self.limit is not None and self.limit.status == "rejected"
        return self.limit if is_rejected else None

    @property
    def is_overload(self) -> bool:
        return self.status == OVERLOADED or self.type == "overloaded_error"

    @property
    def is_server_fault(self) -> bool:
        """Whether a retry, or another model, may succeed."""
        return self.status is not None and self.status >= 500


def request_error_of(error: EndpointError) -> RequestError:
    assert isinstance(error.payload, RequestError)  # noqa: S101  # for the type checker: `endpoint_error` makes them
    return error.payload


def endpoint_error(error: RequestError) -> EndpointError:
    """Return an exception that carries the error."""
    return EndpointError(error.message, payload=error)


def from_network(error: NetworkError) -> RequestError:
    """Return the error for a failed connection."""
    return RequestError(error.kind, error.message)


def from_status(status: int, headers: Mapping[str, str], document: Any, text: str, *, now: float) -> RequestError:
    """Return the error for a status, with the details of the endpoint's error document."""
    kind, message = error_fields(document)
    return RequestError(
        kind="status",
        message=message or _short(text) or f"status {status}",
        status=status,
        type=kind,
        request_id=headers.get("request-id"),
        retry_after_seconds=_retry_after(headers, now),
        should_retry={"true": True, "false": False}.get(headers.get("x-should-retry", "")),
        raw=_short(text),
        limit=usage_limit(headers),
    )


def error_fields(document: Any) -> tuple[str | None, str]:
    """Return type and message of an error document; None and empty if it has none."""
    error = document.get("error") if isinstance(document, dict) else None
    kind, message = (error.get("type"), error.get("message")) if isinstance(error, dict) else (None, None)
    return kind if isinstance(kind, str) else None, message if isinstance(message, str) else ""


def is_retried(error: RequestError) -> bool:
    """Return whether the same request may succeed later."""
    if error.used_up is not None:
        return False
    if error.retry_after_seconds is not None and error.retry_after_seconds > LONGEST_RETRY_AFTER_SECONDS:
        return False
    if error.should_retry is not None:
        return error.should_retry
    if error.status is not None:
        return error.status in _RETRIED or error.status >= 500
    return error.kind in ("refused", "unreachable", "reset", "slow", "proxy")


def delay_seconds(attempt: int, error: RequestError, chance: float) -> float:
    """Return the delay before the retry after this attempt (the first is 1); `chance` is between 0 and 1."""
    if error.retry_after_seconds:
        return error.retry_after_seconds
    doublings = min(attempt - 1, 16)  # far above the longest delay, without huge numbers
    base = min(FIRST_DELAY_SECONDS * float(1 << doublings), LONGEST_DELAY_SECONDS)
    return base * (1 + JITTER * chance)


def fitting_max_tokens(error: RequestError) -> int | None:
    """Return the `max_tokens` that fits, if the endpoint says that prompt and answer exceed the window.

    Its message is "… exceed context limit: 190000 + 64000 > 200000, …".
    """
    _, marker, rest = error.message.partition("exceed context limit:")
    if error.status != 400 or not marker:
        return None
    numbers = [int(word) for word in rest.replace(",", " ").split() if word.isascii() and word.isdigit()]
    if len(numbers) < 3:
        return None
    prompt, _requested, window = numbers[:3]
    left = window - prompt - SPARE_TOKENS
    return left if left >= LEAST_TOKENS else None


def max_retries(environment: Mapping[str, str]) -> int:
    """Return how often a request is retried."""
    text = environment.get("CLAUDE_CODE_MAX_RETRIES", "").strip()
    return int(text) if text.isascii() and text.isdigit() else MAX_RETRIES


def _retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Return the seconds of the `retry-after` headers, or None."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    text = headers.get("retry-after")
    seconds = _number(text)
    if seconds is not None or not text or "," not in text:
        return seconds
    from email.utils import parsedate_to_datetime

    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - now)
    except ValueError:
        return None


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None


def _short(text: str) -> str:
    """Return the beginning of an error page on one line."""
    return " ".join(text[:2000].split())[:500]

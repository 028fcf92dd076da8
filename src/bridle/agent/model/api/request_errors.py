"""What went wrong with one request, and whether and when it is tried again. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from bridle.errors import EndpointError, NetworkError

# Twice the last wait each time, as measured: 0.5, 1, 2, 4, 8, 16, 32, 32, … seconds, and up to a quarter more so that
# many clients do not come back at the same moment.
FIRST_DELAY_SECONDS = 0.5
LONGEST_DELAY_SECONDS = 32.0
JITTER = 0.25
# Ten tries take three minutes; an overload or a restart of the endpoint is over by then, or will take hours.
MAX_RETRIES = 10
# A server that names a longer wait than this means "not now": the run ends instead of standing still.
LONGEST_RETRY_AFTER_SECONDS = 3600.0
# So often a model that is known to be in demand is asked again after it said that it is overloaded.
OVERLOADED_ATTEMPTS = 3

# The endpoint's count of the prompt and the next one may differ by a little.
SPARE_TOKENS = 1000
# An answer shorter than this is no use; the conversation must become shorter instead.
LEAST_TOKENS = 3000

OVERLOADED = 529
_RETRIED = frozenset({401, 408, 409, 429})


class RequestError(Struct, frozen=True):
    """Why one request gave no answer."""

    kind: str
    """`status`, `stream` (an error event inside the stream), `garbled`, or the kind of a NetworkError."""
    message: str
    status: int | None = None
    type: str | None = None
    """The endpoint's own word for it, as `overloaded_error`."""
    request_id: str | None = None
    retry_after_seconds: float | None = None
    should_retry: bool | None = None
    """What the server itself says about trying again."""
    raw: str = ""
    """The error document as it came."""

    @property
    def is_overload(self) -> bool:
        """Whether the model has too much to do."""
        return self.status == OVERLOADED or self.type == "overloaded_error"

    @property
    def is_server_fault(self) -> bool:
        """Whether another try, or another model, may fare better."""
        return self.status is not None and self.status >= 500


def request_error_of(error: EndpointError) -> RequestError:
    """What an EndpointError carries."""
    assert isinstance(error.payload, RequestError)  # noqa: S101  # for the type checker: `endpoint_error` makes them
    return error.payload


def endpoint_error(trouble: RequestError) -> EndpointError:
    """The exception that carries a Trouble to whoever decides about it."""
    return EndpointError(trouble.message, payload=trouble)


def from_network(error: NetworkError) -> RequestError:
    """A connection that could not be made, or broke."""
    return RequestError(error.kind, error.message)


def from_status(status: int, headers: Mapping[str, str], document: Any, text: str, *, now: float) -> RequestError:
    """An error status, with the endpoint's document about it if it is one."""
    error = document.get("error") if isinstance(document, dict) else None
    inner = error if isinstance(error, dict) else {}
    message = inner.get("message")
    kind = inner.get("type")
    return RequestError(
        kind="status",
        message=message if isinstance(message, str) and message else _short(text) or f"status {status}",
        status=status,
        type=kind if isinstance(kind, str) else None,
        request_id=headers.get("request-id"),
        retry_after_seconds=_retry_after(headers, now),
        should_retry={"true": True, "false": False}.get(headers.get("x-should-retry", "")),
        raw=_short(text),
    )


def is_retried(trouble: RequestError) -> bool:
    """Whether the same request may succeed later."""
    if trouble.retry_after_seconds is not None and trouble.retry_after_seconds > LONGEST_RETRY_AFTER_SECONDS:
        return False
    if trouble.should_retry is not None:
        return trouble.should_retry
    if trouble.status is not None:
        return trouble.status in _RETRIED or trouble.status >= 500
    return trouble.kind in ("refused", "unreachable", "reset", "slow", "proxy")


def delay_seconds(attempt: int, trouble: RequestError, chance: float) -> float:
    """How long to wait before the try after this attempt (the first is 1); `chance` is between 0 and 1."""
    if trouble.retry_after_seconds:
        return trouble.retry_after_seconds
    doublings = min(attempt - 1, 16)  # far above the longest delay, and a number that stays small
    base = min(FIRST_DELAY_SECONDS * float(1 << doublings), LONGEST_DELAY_SECONDS)
    return base * (1 + JITTER * chance)


def fitting_max_tokens(trouble: RequestError) -> int | None:
    """How many tokens an answer may have, when the endpoint says that prompt and answer do not fit together.

    It says so in the words "… exceed context limit: 190000 + 64000 > 200000, …".
    """
    _, found, rest = trouble.message.partition("exceed context limit:")
    if trouble.status != 400 or not found:
        return None
    numbers = [int(word) for word in rest.replace(",", " ").split() if word.isascii() and word.isdigit()]
    if len(numbers) < 3:
        return None
    prompt, _asked, window = numbers[:3]
    left = window - prompt - SPARE_TOKENS
    return left if left >= LEAST_TOKENS else None


def max_retries(environment: Mapping[str, str]) -> int:
    """How often a request is tried again."""
    text = environment.get("CLAUDE_CODE_MAX_RETRIES", "").strip()
    return int(text) if text.isascii() and text.isdigit() else MAX_RETRIES


def _retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds until the server wants to be asked again; None if it does not say so in any known way."""
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
    """The beginning of an error page, on one line."""
    return " ".join(text[:2000].split())[:500]

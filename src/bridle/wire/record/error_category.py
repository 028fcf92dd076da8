"""The category of an error: by the agent's own fields, else by the error's text."""

from __future__ import annotations

import re
from enum import StrEnum

from bridle.wire.events.events import ERROR_AUTH, ERROR_RATE
from bridle.wire.record.record import Failure, Record

ERROR_LIMIT_CHARACTERS = 4096
TRUNCATED = " ... (truncated)"
NO_DETAIL = "API error (no detail)"

_USAGE_LIMIT = r"usage limit|(session|weekly|5-hour|opus|sonnet) limit (reached|hit)|hit your .{0,20}limit"


class Category(StrEnum):
    """The kind of an error."""

    RATE_LIMIT = "rate_limit"
    USAGE_LIMIT = "usage_limit"
    AUTH = "auth"
    API = "api"
    INTERACTIVE = "interactive"
    BACKGROUND_TASK = "background-task"
    TIMEOUT = "timeout"
    PERMISSION = "permission"
    PROCESS = "process"
    PARSE = "parse"
    BUDGET = "budget"


_BY_SUBTYPE: dict[str | None, Category] = {
    "error_max_budget_usd": Category.BUDGET,
    ERROR_RATE: Category.RATE_LIMIT,
    ERROR_AUTH: Category.AUTH,
}


def classify(text: str) -> Category:
    """Return the category of an error by its text: limits before auth, auth before the rest."""
    lowered = text.lower()
    if any(mark in lowered for mark in ("429", "rate limit", "rate-limit")):
        return Category.RATE_LIMIT
    auth = ("401", "403", "unauthorized", "authentication", "auth error", "anthropic_api_key")
    if any(mark in lowered for mark in auth):
        return Category.AUTH
    return Category.USAGE_LIMIT if re.search(_USAGE_LIMIT, lowered) else Category.API


def truncate_error(text: str) -> str:
    """Cut an error text at `ERROR_LIMIT_CHARACTERS`."""
    return text if len(text) <= ERROR_LIMIT_CHARACTERS else text[:ERROR_LIMIT_CHARACTERS] + TRUNCATED


def stream_error(failure: Failure, record: Record) -> tuple[str, Category]:
    """Return the text and category of a failed turn."""
    text = truncate_error(failure.text) if failure.text else NO_DETAIL
    return text, _by_structure(failure, record) or classify(text)


def _by_structure(failure: Failure, record: Record) -> Category | None:
    """Return the category by the agent's own fields, which take precedence over text."""
    status, notice = failure.api_error_status, failure.notice
    if status == 429 or notice == "rate_limit":
        is_usage = re.search(_USAGE_LIMIT, (failure.text or "").lower()) or record.rate_limit_status == "rejected"
        return Category.USAGE_LIMIT if is_usage else Category.RATE_LIMIT
    if status in (401, 403) or notice == "authentication_failed":
        return Category.AUTH
    if failure.subtype in _BY_SUBTYPE:
        return _BY_SUBTYPE[failure.subtype]
    if status is not None or notice in ("invalid_request", "model_not_found", "server_error"):
        return Category.API
    return None

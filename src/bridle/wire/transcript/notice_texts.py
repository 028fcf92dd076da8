"""The texts of notices: events of the agent program as one line each."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct

from bridle.wire.events.decode_tolerant import convert
from bridle.wire.events.events import ControlRequest, ControlResponse, RateLimit, RateLimitInfo
from bridle.wire.events.system import IGNORED_LINE, ApiRetry, CompactBoundary, Init, Status, System, TaskNotification
from bridle.wire.transcript.items import NoticeKind

# Printed very often, and for programs only.
SILENT_SYSTEM = frozenset({"thinking_tokens", IGNORED_LINE})
_LATEST_SECONDS = 10**11  # the year 5138; as milliseconds it is 1973, before any agent
_LATEST_MILLISECONDS = 10**14


class CompactMetadata(Struct, frozen=True):
    """What a compaction reports."""

    pre_tokens: Any = None
    post_tokens: Any = None
    trigger: str | None = None


class SystemText(Struct, frozen=True):
    """The fields of a system event that can have its text."""

    content: str = ""
    text: str = ""
    message: str = ""


class PermissionRequest(Struct, frozen=True):
    """A request to allow a tool call."""

    tool_name: Any = "a tool"
    description: str = ""


class ControlError(Struct, frozen=True):
    """The fields of a response that refuses a control request."""

    error: Any = "refused"


def session(event: Init) -> str:
    """Return the id of a session, and in a second line its model, version, folder and permission mode."""
    mode = f"permission mode {event.permission_mode}" if event.permission_mode else None
    version = f"version {event.claude_code_version}" if event.claude_code_version else None
    facts = " · ".join(fact for fact in (event.model, version, event.cwd, mode) if fact)
    return "\n".join(filter(None, (event.session_id, facts))) or "session started"


def retry(event: ApiRetry) -> str:
    """Return why and when a request is retried."""
    reason = event.error or "the request failed"
    status = f" ({event.error_status})" if event.error_status is not None else ""
    tries = f"retry {event.attempt}" if event.attempt is not None else "retry"
    of = f" of {event.max_retries}" if event.max_retries is not None else ""
    delay = event.retry_delay_ms
    wait = f" in {delay / 1000:.1f} s" if delay is not None and math.isfinite(delay) else ""
    return f"{reason}{status}: {tries}{of}{wait}"


def rate_limit(event: RateLimit) -> str:
    """Return the state of the account's limits."""
    info = convert(event.rate_limit_info, RateLimitInfo)
    text = str(info.status) if info.status is not None else "changed"
    if info.kind is not None:
        text += f" ({info.kind.replace('_', ' ')})"
    return f"{text}, resets {_format_time(info.resets_at)}" if isinstance(info.resets_at, int | float) else text


def compaction(event: CompactBoundary) -> str:
    """Return how many tokens a compaction saved."""
    data = convert(event.compact_metadata, CompactMetadata)
    text = "older parts of the conversation were replaced by a summary"
    if data.trigger is not None:
        text += f" ({data.trigger})"
    if data.pre_tokens is None or data.post_tokens is None:
        return text
    return f"{text}: {data.pre_tokens} tokens before, {data.post_tokens} after"


def status(event: Status) -> tuple[NoticeKind, str] | None:
    """Return the notice of a change of state, or None if there is nothing to show."""
    if event.compact_error:
        return NoticeKind.COMPACTION, f"failed: {event.compact_error}"
    if event.status == "compacting":
        return NoticeKind.COMPACTION, "started"
    if event.permission_mode:
        return NoticeKind.PERMISSION, f"mode is now {event.permission_mode}"
    return None


def task(event: TaskNotification) -> str:
    """Return how a task ended; the summary of a completed one says it, that of another may be only its name."""
    if not event.summary:
        return f"task {event.status or 'ended'}"
    return event.summary if event.status in ("completed", None) else f"{event.summary} ({event.status})"


def system_text(event: System) -> str | None:
    """Return the text of a system event without its own struct, or None if it has none."""
    fields = convert(event.value, SystemText)
    return next((text for text in (fields.content, fields.text, fields.message) if text.strip()), None)


def permission(event: ControlRequest) -> str:
    """Return which call the user is asked to allow."""
    request = convert(event.request, PermissionRequest)
    return f"asked for {request.tool_name}" + (f": {request.description}" if request.description else "")


def control_error(event: ControlResponse) -> str:
    """Return why a control request was refused."""
    return str(convert(event.response, ControlError).error)


def _format_time(value: float) -> str:
    """Format a Unix time in seconds or milliseconds; a number that is neither stays as it is."""
    if not 0 < value < _LATEST_MILLISECONDS:
        return f"at {value}"
    seconds = value if value < _LATEST_SECONDS else value / 1000
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")

"""What the agent's program says about itself, in words for a person."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

from bridle.wire.events.events import RateLimit
from bridle.wire.events.system import IGNORED_LINE, ApiRetry, CompactBoundary, Init, Status, System, TaskNotification
from bridle.wire.transcript.items import NoticeKind

# Printed many times over and meant for machines only.
SILENT_SYSTEM = frozenset({"thinking_tokens", IGNORED_LINE})
_LATEST_SECONDS = 10**11  # the year 5138; as milliseconds it is 1973, before any agent
_LATEST_MILLISECONDS = 10**14
_WORDED = ("content", "text", "message")


def session(event: Init) -> str:
    """What an init says of the session that begins."""
    mode = f"permission mode {event.permission_mode}" if event.permission_mode else None
    version = f"version {event.claude_code_version}" if event.claude_code_version else None
    facts = (event.model, version, event.cwd, mode)
    return " · ".join(fact for fact in facts if fact) or "a session begins"


def retry(event: ApiRetry) -> str:
    """Why and when a request is sent again."""
    reason = event.error or "the request failed"
    status = f" ({event.error_status})" if event.error_status is not None else ""
    tries = f"retry {event.attempt}" if event.attempt is not None else "retry"
    of = f" of {event.max_retries}" if event.max_retries is not None else ""
    delay = event.retry_delay_ms
    wait = f" in {delay / 1000:.1f} s" if delay is not None and math.isfinite(delay) else ""
    return f"{reason}{status}: {tries}{of}{wait}"


def rate_limit(event: RateLimit) -> str:
    """How the account's limits stand."""
    info = event.rate_limit_info if isinstance(event.rate_limit_info, dict) else {}
    status, kind, resets_at = info.get("status"), info.get("rateLimitType"), info.get("resetsAt")
    words = str(status) if status is not None else "changed"
    if isinstance(kind, str):
        words += f" ({kind.replace('_', ' ')})"
    return f"{words}, resets {_moment(resets_at)}" if isinstance(resets_at, int | float) else words


def compaction(event: CompactBoundary) -> str:
    """What the summary of older parts saved."""
    facts = event.compact_metadata if isinstance(event.compact_metadata, dict) else {}
    before, after = facts.get("pre_tokens"), facts.get("post_tokens")
    words = "older parts of the conversation were replaced by a summary"
    trigger = facts.get("trigger")
    if isinstance(trigger, str):
        words += f" ({trigger})"
    return f"{words}: {before} tokens before, {after} after" if before is not None and after is not None else words


def status(event: Status) -> tuple[NoticeKind, str] | None:
    """What a change of state means to a person; None where it means nothing."""
    if event.compact_error:
        return NoticeKind.COMPACTION, f"failed: {event.compact_error}"
    if event.status == "compacting":
        return NoticeKind.COMPACTION, "begins"
    if event.permission_mode:
        return NoticeKind.PERMISSION, f"mode is now {event.permission_mode}"
    return None


def task(event: TaskNotification) -> str:
    """How a task ended. Summaries say it in words where it went well; else some are only the task's name."""
    if not event.summary:
        return f"a task is {event.status or 'over'}"
    return event.summary if event.status in ("completed", None) else f"{event.summary} ({event.status})"


def words_of(event: System) -> str | None:
    """The words in a system event of a kind that has no value of its own; None where it has none."""
    found = (event.value.get(name) for name in _WORDED)
    return next((text for text in found if isinstance(text, str) and text.strip()), None)


def permission(request: dict[str, Any]) -> str:
    """Which call somebody is asked to allow."""
    why = request.get("description")
    return f"asked for {request.get('tool_name', 'a tool')}" + (f": {why}" if isinstance(why, str) and why else "")


def _moment(value: float) -> str:
    """A time in seconds or milliseconds since 1970, for people; as it is where it is neither."""
    if not 0 < value < _LATEST_MILLISECONDS:
        return f"at {value}"
    seconds = value if value < _LATEST_SECONDS else value / 1000
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")

"""Codex (`codex exec --json`): threads, turns and items.

An `error` line is provisional: Codex prints one for each broken connection that it mends by itself. It counts when
the turn fails, or when the stream ends and the turn did not. Input tokens hold the cached ones.
"""

from __future__ import annotations

import re
from typing import Any

from bridle.wire.dialects import build_events
from bridle.wire.dialects.codex_items import TOOLS, Call, output_of, refused, went_wrong
from bridle.wire.dialects.dialect import DialectDecoder
from bridle.wire.dialects.tolerant_fields import mapping, text
from bridle.wire.events.decode_tolerant import token_count
from bridle.wire.events.events import STREAM_ENDED, Event, Result, Usage
from bridle.wire.events.lines import LINE_LIMIT_BYTES
from bridle.wire.events.system import ApiRetry, Init, Notice

DROPPED_PREFIX = "dropped-events:"
_DROPPED = re.compile(r"\bdropped\b.*\bevents?\b|\bevents?\b.*\bdropped\b", re.IGNORECASE | re.DOTALL)
_RETRYING = re.compile(r"\b(?:reconnecting|retrying)\b", re.IGNORECASE)
_ATTEMPT = re.compile(r"\b(\d{1,4})\s*/\s*(\d{1,4})\b")
_STATUS = re.compile(r"\bstatus(?: code)?:? (\d{3})\b", re.IGNORECASE)
_DOCUMENTED = ("item.plan.delta",)


class Codex(DialectDecoder):
    """Reads one `codex exec --json` run."""

    def __init__(self, *, limit_bytes: int = LINE_LIMIT_BYTES) -> None:
        super().__init__(limit_bytes=limit_bytes)
        self._session: str | None = None
        self._inits = self._results = self._unnamed = 0
        self._in_turn = True  # an error before the first turn fails the run as well
        self._error: str | None = None
        self._retry: str | None = None
        self._answer: str | None = None
        self._running: set[str] = set()
        self._denials: list[dict[str, Any]] = []

    def take(self, value: dict[str, Any], raw: bytes) -> list[Event]:
        """The events of one line."""
        match value.get("type"):
            case "thread.started":
                self._session = self._session or text(value, "thread_id")
                return [self._init(raw, text(value, "thread_id"))]
            case "turn.started":
                return self._turn_started(value, raw)
            case "turn.completed":
                return self._turn_completed(value, raw)
            case "turn.failed":
                return self._turn_failed(value, raw)
            case "error":
                return self._stream_error(value, raw)
            case "item.started" | "item.updated" | "item.completed":
                return self._item(value, raw)
            case "request_user_input":
                questions = {"questions": value.get("questions")}
                call_id = text(value, "call_id") or self._new_id()
                return [build_events.tool_call(call_id, "AskUserQuestion", questions, raw, session=self._session)]
            case kind if kind in _DOCUMENTED:
                return [build_events.ignored_line(value, raw)]
        return [build_events.unknown_line(value, raw)]

    def finish(self) -> list[Event]:
        """A turn that was never completed, and in which an error stood, has failed."""
        message = self._error or self._retry
        if not self._in_turn or message is None:
            return []
        self._in_turn = False
        # One that was still mending its connection may have been stopped; another error speaks for itself.
        terminal_reason = STREAM_ENDED if self._error is None else None
        return [*self._opened(b""), self._failed(message, b"", terminal_reason=terminal_reason)]

    def _init(self, raw: bytes, session: str | None) -> Init:
        self._inits += 1
        return Init(raw=raw, session_id=session)

    def _opened(self, raw: bytes) -> list[Event]:
        """Each result has an init before it, as with Claude Code: so the tokens of several turns add up."""
        return [self._init(raw, self._session)] if self._inits <= self._results else []

    def _turn_started(self, value: dict[str, Any], raw: bytes) -> list[Event]:
        self._in_turn = True
        self._error = self._retry = None
        return (self._opened(raw) if self._results else []) or [build_events.ignored_line(value, raw)]

    def _turn_completed(self, value: dict[str, Any], raw: bytes) -> list[Event]:
        recovered: list[Event] = []
        if self._error is not None:
            recovered.append(Notice(raw=raw, text=self._error, session_id=self._session))
        self._in_turn, self._error, self._retry = False, None, None
        events = self._opened(raw)
        self._results += 1
        result = Result(
            raw=raw,
            subtype="success",
            is_error=False,
            result=self._answer or "",
            session_id=self._session,
            usage=_usage(value),
            permission_denials=self._denials or None,
        )
        return [*recovered, *events, result]

    def _turn_failed(self, value: dict[str, Any], raw: bytes) -> list[Event]:
        message = text(mapping(value, "error"), "message") or text(value, "error") or self._error
        self._in_turn, self._error, self._retry = False, None, None
        return [*self._opened(raw), self._failed(message, raw)]

    def _failed(self, message: str | None, raw: bytes, *, terminal_reason: str | None = None) -> Result:
        self._results += 1
        return Result(
            raw=raw,
            subtype=build_events.error_subtype(message or ""),
            is_error=True,
            result=message,
            session_id=self._session,
            terminal_reason=terminal_reason,
            permission_denials=self._denials or None,
        )

    def _stream_error(self, value: dict[str, Any], raw: bytes) -> list[Event]:
        message = text(value, "message") or ""
        if _RETRYING.search(message):
            self._retry = message
            return [_api_retry(message, raw, self._session)]
        if not self._in_turn:
            return [Notice(raw=raw, text=message, session_id=self._session)]
        self._error = self._error or message
        return [build_events.ignored_line(value, raw)]

    def _item(self, value: dict[str, Any], raw: bytes) -> list[Event]:
        item, is_over = mapping(value, "item"), value["type"] == "item.completed"
        kind, words = text(item, "type"), text(item, "text")
        if kind in TOOLS:
            return self._tool(TOOLS[kind](item), item, value, raw)
        if kind == "error":
            return [Notice(raw=raw, text=_advice(text(item, "message")), session_id=self._session)]
        if kind not in ("agent_message", "reasoning", "plan") or (is_over and words is None):
            return [build_events.unknown_line(value, raw)]
        if not is_over or words is None or kind == "plan":
            return [build_events.ignored_line(value, raw)]
        if kind == "reasoning":
            return [build_events.thinking_message(words, raw, session=self._session, message_id=text(item, "id"))]
        self._answer = words
        return [build_events.text_message(words, raw, session=self._session, message_id=text(item, "id"))]

    def _tool(self, call: Call, item: dict[str, Any], value: dict[str, Any], raw: bytes) -> list[Event]:
        """A call when the item begins, its result when it is over; both where the beginning was not printed."""
        call_id = text(item, "id")
        if value["type"] != "item.completed":
            if call_id is None or call_id in self._running or value["type"] == "item.updated":
                return [build_events.ignored_line(value, raw)]
            self._running.add(call_id)
            return [build_events.tool_call(call_id, *call, raw, session=self._session)]
        begun: list[Event] = []
        if call_id is None or call_id not in self._running:
            call_id = call_id or self._new_id()
            begun.append(build_events.tool_call(call_id, *call, raw, session=self._session))
        self._running.discard(call_id)
        if refused(item):
            name, arguments = call
            self._denials.append({"tool_name": name, "tool_use_id": call_id, "tool_input": arguments})
        answer = build_events.tool_answer(
            call_id, output_of(item), raw, session=self._session, is_error=went_wrong(item)
        )
        return [*begun, answer]

    def _new_id(self) -> str:
        self._unnamed += 1
        return f"unnamed_{self._unnamed}"


def _usage(value: dict[str, Any]) -> Usage | None:
    counts = value.get("usage")
    if not isinstance(counts, dict):
        return None
    return Usage(
        input_tokens=token_count(counts.get("input_tokens")),
        cached_input_tokens=token_count(counts.get("cached_input_tokens")),
        cache_creation_input_tokens=token_count(counts.get("cache_write_input_tokens")),
        output_tokens=token_count(counts.get("output_tokens")),
        reasoning_output_tokens=token_count(counts.get("reasoning_output_tokens")),
    )


def _api_retry(message: str, raw: bytes, session: str | None) -> ApiRetry:
    attempt, status = _ATTEMPT.search(message), _STATUS.search(message)
    return ApiRetry(
        raw=raw,
        attempt=int(attempt[1]) if attempt else None,
        max_retries=int(attempt[2]) if attempt else None,
        error_status=int(status[1]) if status else None,
        error=message,
        session_id=session,
    )


def _advice(message: str | None) -> str:
    words = message or "the agent reported an error without saying what it was"
    return f"{DROPPED_PREFIX} {words}" if _DROPPED.search(words) else words

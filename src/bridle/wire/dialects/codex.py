"""Codex (`codex exec --json`): threads, turns and items.

An `error` line is provisional: Codex prints one for each lost connection that it restores. It counts if the turn
fails, or if the stream ends before the turn does. Input tokens include the cached ones.
"""

from __future__ import annotations

import re

from bridle.wire.dialects import build_events
from bridle.wire.dialects.codex_items import TOOLS, Counts, Error, Item, Line, ToolCall, output_of
from bridle.wire.dialects.dialect import DialectDecoder
from bridle.wire.events.decode_tolerant import convert, token_count
from bridle.wire.events.events import STREAM_ENDED, Event, Result, Usage
from bridle.wire.events.lines import LINE_LIMIT_BYTES
from bridle.wire.events.loose_json import JsonObject
from bridle.wire.events.system import ApiRetry, Init, Notice

DROPPED_PREFIX = "dropped-events:"
_DROPPED = re.compile(r"\bdropped\b.*\bevents?\b|\bevents?\b.*\bdropped\b", re.IGNORECASE | re.DOTALL)
_RETRYING = re.compile(r"\b(?:reconnecting|retrying)\b", re.IGNORECASE)
_ATTEMPT = re.compile(r"\b(\d{1,4})\s*/\s*(\d{1,4})\b")
_STATUS = re.compile(r"\bstatus(?: code)?:? (\d{3})\b", re.IGNORECASE)
_DOCUMENTED = ("item.plan.delta",)


class Codex(DialectDecoder):
    """A decoder of one `codex exec --json` run."""

    def __init__(self, *, limit_bytes: int = LINE_LIMIT_BYTES) -> None:
        super().__init__(limit_bytes=limit_bytes)
        self._session: str | None = None
        self._inits = self._results = 0
        self._in_turn = True  # an error before the first turn fails the run as well
        self._error: str | None = None
        self._retry: str | None = None
        self._answer: str | None = None
        self._running: set[str] = set()
        self._denials: list[JsonObject] = []

    def decode_object(self, value: JsonObject, raw: bytes) -> list[Event]:
        line = convert(value, Line)
        match line.type:
            case "thread.started":
                self._session = self._session or line.thread_id
                return [self._init(raw, line.thread_id)]
            case "turn.started":
                self._in_turn = True
                self._error = self._retry = None
                return (self._missing_init(raw) if self._results else []) or [build_events.ignored_line(value, raw)]
            case "turn.completed":
                return self._turn_completed(line, raw)
            case "turn.failed":
                message = (line.error.message if isinstance(line.error, Error) else line.error) or self._error
                self._in_turn, self._error, self._retry = False, None, None
                return [*self._missing_init(raw), self._failed(message, raw)]
            case "error":
                return self._stream_error(line.message or "", value, raw)
            case "item.started" | "item.updated" | "item.completed":
                return self._item(line.item, value, raw)
            case "request_user_input":
                call_id = line.call_id or self._new_id()
                questions = {"questions": line.questions}
                return [build_events.tool_call(call_id, "AskUserQuestion", questions, raw, session=self._session)]
            case kind if kind in _DOCUMENTED:
                return [build_events.ignored_line(value, raw)]
        return [build_events.unknown_line(value, raw)]

    def finish(self) -> list[Event]:
        """Return a failed result for a turn that had an error and was never completed."""
        message = self._error or self._retry
        if not self._in_turn or message is None:
            return []
        self._in_turn = False
        # A turn that was still reconnecting may have been stopped; any other error is the reason itself.
        terminal_reason = STREAM_ENDED if self._error is None else None
        return [*self._missing_init(b""), self._failed(message, b"", terminal_reason=terminal_reason)]

    def _init(self, raw: bytes, session: str | None) -> Init:
        self._inits += 1
        return Init(raw=raw, session_id=session)

    def _missing_init(self, raw: bytes) -> list[Event]:
        """Return an init if the next result has none: as with Claude Code, so that the tokens of turns add up."""
        return [self._init(raw, self._session)] if self._inits <= self._results else []

    def _turn_completed(self, line: Line, raw: bytes) -> list[Event]:
        recovered: list[Event] = []
        if self._error is not None:
            recovered.append(Notice(raw=raw, text=self._error, session_id=self._session))
        self._in_turn, self._error, self._retry = False, None, None
        events = self._missing_init(raw)
        self._results += 1
        result = Result(
            raw=raw,
            subtype="success",
            is_error=False,
            result=self._answer or "",
            session_id=self._session,
            usage=None if line.usage is None else _usage(line.usage),
            permission_denials=self._denials or None,
        )
        return [*recovered, *events, result]

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

    def _stream_error(self, message: str, value: JsonObject, raw: bytes) -> list[Event]:
        if _RETRYING.search(message):
            self._retry = message
            return [_api_retry(message, raw, self._session)]
        if not self._in_turn:
            return [Notice(raw=raw, text=message, session_id=self._session)]
        self._error = self._error or message
        return [build_events.ignored_line(value, raw)]

    def _item(self, item: Item, value: JsonObject, raw: bytes) -> list[Event]:
        is_completed, text = value["type"] == "item.completed", item.text
        if item.type in TOOLS:
            return self._tool(TOOLS[item.type](item), item, value, raw)
        if item.type == "error":
            return [Notice(raw=raw, text=_notice_text(item.message), session_id=self._session)]
        if item.type not in ("agent_message", "reasoning", "plan") or (is_completed and text is None):
            return [build_events.unknown_line(value, raw)]
        if not is_completed or text is None or item.type == "plan":
            return [build_events.ignored_line(value, raw)]
        if item.type == "reasoning":
            return [build_events.thinking_message(text, raw, session=self._session, message_id=item.id)]
        self._answer = text
        return [build_events.text_message(text, raw, session=self._session, message_id=item.id)]

    def _tool(self, call: ToolCall, item: Item, value: JsonObject, raw: bytes) -> list[Event]:
        """Return the call when the item starts, its result when it completes; both if the start was not printed."""
        call_id = item.id
        if value["type"] != "item.completed":
            if call_id is None or call_id in self._running or value["type"] == "item.updated":
                return [build_events.ignored_line(value, raw)]
            self._running.add(call_id)
            return [build_events.tool_call(call_id, *call, raw, session=self._session)]
        started: list[Event] = []
        if call_id is None or call_id not in self._running:
            call_id = call_id or self._new_id()
            started.append(build_events.tool_call(call_id, *call, raw, session=self._session))
        self._running.discard(call_id)
        if item.was_declined:
            name, arguments = call
            self._denials.append({"tool_name": name, "tool_use_id": call_id, "tool_input": arguments})
        output, session = output_of(item), self._session
        return [*started, build_events.tool_answer(call_id, output, raw, session=session, is_error=item.has_failed)]


def _usage(counts: Counts) -> Usage:
    return Usage(
        input_tokens=token_count(counts.input_tokens),
        cached_input_tokens=token_count(counts.cached_input_tokens),
        cache_creation_input_tokens=token_count(counts.cache_write_input_tokens),
        output_tokens=token_count(counts.output_tokens),
        reasoning_output_tokens=token_count(counts.reasoning_output_tokens),
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


def _notice_text(message: str | None) -> str:
    text = message or build_events.ERROR_WITHOUT_MESSAGE
    return f"{DROPPED_PREFIX} {text}" if _DROPPED.search(text) else text

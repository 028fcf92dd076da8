"""Gemini CLI (`gemini -o stream-json`): messages in deltas, tools, one result.

Deltas of a message are joined without a newline. An `error` line is a warning if a result follows; if the stream
ends without one, a line of severity `error` is the reason. Input tokens include the cached ones.
"""

from __future__ import annotations

import math
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bridle.wire.dialects import build_events
from bridle.wire.dialects.dialect import DialectDecoder
from bridle.wire.dialects.partial_text import PartialText
from bridle.wire.events.decode_tolerant import convert, token_count
from bridle.wire.events.events import ERROR_AUTH, STREAM_ENDED, Event, Message, Result, Usage, User
from bridle.wire.events.lines import LINE_LIMIT_BYTES
from bridle.wire.events.loose_json import JsonObject
from bridle.wire.events.system import Init, Notice


class Error(Struct, frozen=True):
    """Why a tool or the run failed."""

    message: str | None = None
    type: str = ""
    code: int | None = None


class Stats(Struct, frozen=True):
    """Tokens and time of the run."""

    duration_ms: int | float | None = None
    input_tokens: Any = None
    cached: Any = None
    output_tokens: Any = None
    models: JsonObject = {}


class Line(Struct, frozen=True):
    """One line of `gemini -o stream-json`; each type has some of these fields."""

    type: str | None = None
    session_id: str | None = None
    model: str | None = None
    role: str | None = None
    content: str | None = None
    delta: bool = False
    tool_name: str | None = None
    tool_id: str | None = None
    parameters: JsonObject = {}
    output: str | None = None
    status: str | None = None
    severity: str | None = None
    message: str | None = None
    error: Error | str | None = None
    stats: JsonObject = {}


class Gemini(DialectDecoder):
    """A decoder of one `gemini -o stream-json` run."""

    def __init__(self, *, limit_bytes: int = LINE_LIMIT_BYTES) -> None:
        super().__init__(limit_bytes=limit_bytes)
        self._session: str | None = None
        self._partial = PartialText()
        self._answer: str | None = None
        self._error: str | None = None
        self._has_result = False

    def decode_object(self, value: JsonObject, raw: bytes) -> list[Event]:
        line = convert(value, Line)
        match line.type:
            case "init":
                self._session = self._session or line.session_id
                return [*self._close(), Init(raw=raw, session_id=line.session_id, model=line.model)]
            case "message":
                return self._message(line, value, raw)
            case "tool_use":
                return [*self._close(), self._tool_use(line, value, raw)]
            case "tool_result":
                return [*self._close(), self._tool_result(line, value, raw)]
            case "error":
                return self._stream_error(line, value, raw)
            case "result":
                return [*self._close(), *self._result(line, raw)]
        return [build_events.unknown_line(value, raw)]

    def finish(self) -> list[Event]:
        """Return the last message, and a failed result if there was an error and no result."""
        events = self._close()
        if self._has_result or self._error is None:
            return events
        self._has_result = True
        return [*events, self._failed({}, Error(self._error), b"", terminal_reason=STREAM_ENDED)]

    def _close(self) -> list[Event]:
        self._answer = self._partial.text if self._partial else self._answer
        return list(self._partial.close(session=self._session))

    def _message(self, line: Line, value: JsonObject, raw: bytes) -> list[Event]:
        text = line.content
        if text is None or line.role not in ("user", "assistant"):
            return [build_events.unknown_line(value, raw)]
        if line.role == "user":
            message = Message(role="user", content=text)
            return [*self._close(), User(raw=raw, message=message, session_id=self._session)]
        if line.delta:
            return list(self._partial.add(text, raw, session=self._session))
        events = self._close()
        self._answer = text
        return [*events, build_events.text_message(text, raw, session=self._session)]

    def _tool_use(self, line: Line, value: JsonObject, raw: bytes) -> Event:
        if line.tool_name is None:
            return build_events.unknown_line(value, raw)
        call_id = line.tool_id
        if call_id is None:
            call_id = self._new_id()
        return build_events.tool_call(call_id, line.tool_name, line.parameters, raw, session=self._session)

    def _tool_result(self, line: Line, value: JsonObject, raw: bytes) -> Event:
        """Return the result of a tool; its output may be missing on success."""
        if line.tool_id is None:
            return build_events.unknown_line(value, raw)
        error = line.error.message if isinstance(line.error, Error) else None
        output, is_error = line.output or error or "", line.status == "error"
        return build_events.tool_answer(line.tool_id, output, raw, session=self._session, is_error=is_error)

    def _stream_error(self, line: Line, value: JsonObject, raw: bytes) -> list[Event]:
        message = line.message or build_events.ERROR_WITHOUT_MESSAGE
        if line.severity != "error":
            return [Notice(raw=raw, text=message, session_id=self._session)]
        self._error = message
        return [build_events.ignored_line(value, raw)]

    def _result(self, line: Line, raw: bytes) -> list[Event]:
        self._has_result = True
        earlier, self._error = self._error, None
        if line.status not in (None, "success"):
            error = line.error if isinstance(line.error, Error) else Error(line.error)
            status = None if line.status == "error" else f"the run ended with the status {line.status}"
            return [self._failed(line.stats, replace(error, message=error.message or earlier or status), raw)]
        warnings = [] if earlier is None else [Notice(raw=raw, text=earlier, session_id=self._session)]
        return [*warnings, self._succeeded(line.stats, raw)]

    def _succeeded(self, stats: JsonObject, raw: bytes) -> Result:
        result = Result(raw=raw, subtype="success", is_error=False, result=self._answer or "", session_id=self._session)
        return _with_stats(result, stats)

    def _failed(self, stats: JsonObject, error: Error, raw: bytes, *, terminal_reason: str | None = None) -> Result:
        is_auth = "authentication" in error.type.lower()
        result = Result(
            raw=raw,
            subtype=ERROR_AUTH if is_auth else build_events.error_subtype(error.message or ""),
            is_error=True,
            api_error_status=_http_status(error.code),
            result=error.message,
            session_id=self._session,
            terminal_reason=terminal_reason,
        )
        return _with_stats(result, stats)


def _with_stats(result: Result, value: JsonObject) -> Result:
    if not value:
        return result
    stats = convert(value, Stats)
    duration = stats.duration_ms
    usage = Usage(
        input_tokens=token_count(stats.input_tokens),
        cached_input_tokens=token_count(stats.cached),
        output_tokens=token_count(stats.output_tokens),
    )
    is_finite = isinstance(duration, int) or (duration is not None and math.isfinite(duration))
    return replace(result, duration_ms=duration if is_finite else None, usage=usage, model_usage=stats.models or None)


def _http_status(code: int | None) -> int | None:
    """Return the code if it is an HTTP status: the same field has exit codes such as 41."""
    return code if code is not None and 400 <= code < 600 else None

"""Gemini CLI (`gemini -o stream-json`): messages in parts, tools, one result.

Parts of a message (`delta`) are joined without a newline. An `error` line is advice while a result follows; where
the stream ends without one, a line of severity `error` is why. Input tokens hold the cached ones.
"""

from __future__ import annotations

from typing import Any

from bridle.wire.dialects import build_events
from bridle.wire.dialects.dialect import DialectDecoder
from bridle.wire.dialects.partial_text import PartialText
from bridle.wire.dialects.tolerant_fields import mapping, number, text, whole
from bridle.wire.events.decode_tolerant import token_count
from bridle.wire.events.events import ERROR_AUTH, STREAM_ENDED, Event, Message, Result, Usage, User
from bridle.wire.events.lines import LINE_LIMIT_BYTES
from bridle.wire.events.system import Init, Notice


class Gemini(DialectDecoder):
    """Reads one `gemini -o stream-json` run."""

    def __init__(self, *, limit_bytes: int = LINE_LIMIT_BYTES) -> None:
        super().__init__(limit_bytes=limit_bytes)
        self._session: str | None = None
        self._partial = PartialText()
        self._answer: str | None = None
        self._error: str | None = None
        self._has_result = False
        self._unnamed = 0

    def take(self, value: dict[str, Any], raw: bytes) -> list[Event]:
        """The events of one line."""
        match value.get("type"):
            case "init":
                self._session = self._session or text(value, "session_id")
                init = Init(raw=raw, session_id=text(value, "session_id"), model=text(value, "model"))
                return [*self._close(), init]
            case "message":
                return self._message(value, raw)
            case "tool_use":
                return [*self._close(), self._tool_use(value, raw)]
            case "tool_result":
                return [*self._close(), self._tool_result(value, raw)]
            case "error":
                return self._advice(value, raw)
            case "result":
                return [*self._close(), *self._result(value, raw)]
        return [build_events.unknown_line(value, raw)]

    def finish(self) -> list[Event]:
        """The last message has no line after it; an error without a result has ended the run."""
        events = self._close()
        if self._has_result or self._error is None:
            return events
        self._has_result = True
        return [*events, self._failed({}, {"message": self._error}, b"", terminal_reason=STREAM_ENDED)]

    def _close(self) -> list[Event]:
        self._answer = self._partial.text if self._partial else self._answer
        return list(self._partial.close(session=self._session))

    def _message(self, value: dict[str, Any], raw: bytes) -> list[Event]:
        words, role = text(value, "content"), value.get("role")
        if words is None or role not in ("user", "assistant"):
            return [build_events.unknown_line(value, raw)]
        if role == "user":
            said = Message(role="user", content=words)
            return [*self._close(), User(raw=raw, message=said, session_id=self._session)]
        if value.get("delta") is True:
            return list(self._partial.add(words, raw, session=self._session))
        events = self._close()
        self._answer = words
        return [*events, build_events.text_message(words, raw, session=self._session)]

    def _tool_use(self, value: dict[str, Any], raw: bytes) -> Event:
        name, call_id = text(value, "tool_name"), text(value, "tool_id")
        if name is None:
            return build_events.unknown_line(value, raw)
        if call_id is None:
            self._unnamed += 1
            call_id = f"unnamed_{self._unnamed}"
        return build_events.tool_call(call_id, name, mapping(value, "parameters"), raw, session=self._session)

    def _tool_result(self, value: dict[str, Any], raw: bytes) -> Event:
        """The output may be missing on success."""
        call_id = text(value, "tool_id")
        if call_id is None:
            return build_events.unknown_line(value, raw)
        output = text(value, "output") or text(mapping(value, "error"), "message") or ""
        is_error = value.get("status") == "error"
        return build_events.tool_answer(call_id, output, raw, session=self._session, is_error=is_error)

    def _advice(self, value: dict[str, Any], raw: bytes) -> list[Event]:
        message = text(value, "message") or "the agent reported an error without saying what it was"
        if value.get("severity") != "error":
            return [Notice(raw=raw, text=message, session_id=self._session)]
        self._error = message
        return [build_events.ignored_line(value, raw)]

    def _result(self, value: dict[str, Any], raw: bytes) -> list[Event]:
        self._has_result = True
        stats, earlier = mapping(value, "stats"), self._error
        self._error = None
        if value.get("status") == "error":
            error = mapping(value, "error")
            message = text(error, "message") or text(value, "error") or earlier
            return [self._failed(stats, {**error, "message": message}, raw)]
        advice = [] if earlier is None else [Notice(raw=raw, text=earlier, session_id=self._session)]
        return [*advice, self._succeeded(stats, raw)]

    def _succeeded(self, stats: dict[str, Any], raw: bytes) -> Result:
        return Result(
            raw=raw,
            subtype="success",
            is_error=False,
            duration_ms=number(stats, "duration_ms"),
            result=self._answer or "",
            session_id=self._session,
            usage=_usage(stats),
            model_usage=mapping(stats, "models") or None,
        )

    def _failed(
        self,
        stats: dict[str, Any],
        error: dict[str, Any],
        raw: bytes,
        *,
        terminal_reason: str | None = None,
    ) -> Result:
        message = text(error, "message")
        is_auth = "authentication" in (text(error, "type") or "").lower()
        return Result(
            raw=raw,
            subtype=ERROR_AUTH if is_auth else build_events.error_subtype(message or ""),
            is_error=True,
            api_error_status=_status(error),
            duration_ms=number(stats, "duration_ms"),
            result=message,
            session_id=self._session,
            usage=_usage(stats),
            model_usage=mapping(stats, "models") or None,
            terminal_reason=terminal_reason,
        )


def _usage(stats: dict[str, Any]) -> Usage | None:
    if not stats:
        return None
    return Usage(
        input_tokens=token_count(stats.get("input_tokens")),
        cached_input_tokens=token_count(stats.get("cached")),
        output_tokens=token_count(stats.get("output_tokens")),
    )


def _status(error: dict[str, Any]) -> int | None:
    """The HTTP status, where the code is one: exit codes such as 41 stand in the same field."""
    code = whole(error, "code")
    return code if code is not None and 400 <= code < 600 else None

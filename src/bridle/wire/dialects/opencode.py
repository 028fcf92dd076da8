"""OpenCode (`opencode run --format json`): steps with texts, tools and what they cost.

Up to 1.18 nothing says that the run is over, so the end of the stream makes the result; newer ones print `done`.
An error counts unless more of the answer comes after it. Input tokens leave out the cached ones.
"""

from __future__ import annotations

from dataclasses import asdict
from decimal import Decimal
from typing import Any

from bridle.wire.dialects import build_events
from bridle.wire.dialects.dialect import DialectDecoder
from bridle.wire.dialects.tolerant_fields import listing, mapping, number, text, whole
from bridle.wire.events.decode_tolerant import token_count
from bridle.wire.events.events import Event, Result, Usage
from bridle.wire.events.lines import LINE_LIMIT_BYTES
from bridle.wire.events.system import Init, Notice
from bridle.wire.record.record import Tally

_MORE_TO_COME = "tool-calls"  # why a step finished, when the next one begins with the tools' answers


class OpenCode(DialectDecoder):
    """Reads one `opencode run --format json` run."""

    def __init__(self, *, limit_bytes: int = LINE_LIMIT_BYTES) -> None:
        super().__init__(limit_bytes=limit_bytes)
        self._session: str | None = None
        self._steps = self._unnamed = 0
        self._in_step = self._is_done = False
        self._answer: str | None = None
        self._error: dict[str, Any] | None = None
        self._tally: Tally | None = None
        self._cost: Decimal | None = None

    def take(self, value: dict[str, Any], raw: bytes) -> list[Event]:
        """The events of one line, after the session that the first one names."""
        session = text(value, "sessionID")
        if self._session is None and session is not None:
            self._session = session
            return [Init(raw=raw, session_id=session), *self._take_known(value, raw)]
        return self._take_known(value, raw)

    def finish(self) -> list[Event]:
        """The stream is over: a result, unless it was cut off in a step or never said anything."""
        if self._is_done:
            return []
        if self._error is None and (self._in_step or self._answer is None):
            return []
        return [self._result(b"")]

    def _take_known(self, value: dict[str, Any], raw: bytes) -> list[Event]:
        part = mapping(value, "part")
        match value.get("type"):
            case "step_start":
                self._steps += 1
                self._in_step = True
                return [*self._recovered(raw), build_events.ignored_line(value, raw)]
            case "step_finish":
                return [*self._recovered(raw), *self._step_finish(part, raw)]
            case "text" | "reasoning":
                return [*self._recovered(raw), self._words(value, part, raw)]
            case "tool_use":
                return [*self._recovered(raw), *self._tool(value, part, raw)]
            case "error":
                return self._failure(value, raw)
            case "done":
                rejected = [name for name in listing(value, "rejected") if isinstance(name, str)]
                return [self._result(raw, denials=[{"tool_name": name} for name in rejected])]
        return [build_events.unknown_line(value, raw)]

    def _message_id(self, part: dict[str, Any]) -> str:
        return text(part, "messageID") or f"step_{self._steps}"

    def _recovered(self, raw: bytes) -> list[Event]:
        """The agent went on after an error: then it was only a warning."""
        if self._error is None:
            return []
        words, self._error = _message(self._error), None
        return [Notice(raw=raw, text=words, session_id=self._session)]

    def _step_finish(self, part: dict[str, Any], raw: bytes) -> list[Event]:
        self._in_step = part.get("reason") == _MORE_TO_COME
        cost, usage = number(part, "cost"), _usage(mapping(part, "tokens"))
        if cost is not None:
            self._cost = (self._cost or Decimal(0)) + Decimal(repr(cost))
        self._tally = self._tally or Tally()
        self._tally.add(usage)
        return [build_events.usage_message(usage, raw, session=self._session, message_id=self._message_id(part))]

    def _words(self, value: dict[str, Any], part: dict[str, Any], raw: bytes) -> Event:
        words = text(part, "text")
        if words is None:
            return build_events.unknown_line(value, raw)
        if value["type"] == "reasoning":
            return build_events.thinking_message(words, raw, session=self._session, message_id=self._message_id(part))
        self._answer = words
        return build_events.text_message(words, raw, session=self._session, message_id=self._message_id(part))

    def _tool(self, value: dict[str, Any], part: dict[str, Any], raw: bytes) -> list[Event]:
        """Printed once, when the tool has answered: the call and its result."""
        name, state = text(part, "tool"), mapping(part, "state")
        if name is None:
            return [build_events.unknown_line(value, raw)]
        call_id = text(part, "callID") or text(part, "id") or self._new_id()
        call = build_events.tool_call(
            call_id, name, mapping(state, "input"), raw, session=self._session, message_id=self._message_id(part)
        )
        if state.get("status") not in ("completed", "error"):
            return [call]
        is_error = state.get("status") == "error"
        output = text(state, "error" if is_error else "output") or ""
        return [call, build_events.tool_answer(call_id, output, raw, session=self._session, is_error=is_error)]

    def _failure(self, value: dict[str, Any], raw: bytes) -> list[Event]:
        error = value.get("error")
        self._error = error if isinstance(error, dict) else {"message": error}
        return [build_events.ignored_line(value, raw)]

    def _result(self, raw: bytes, *, denials: list[dict[str, Any]] | None = None) -> Result:
        self._is_done = True
        error, self._error = self._error, None
        message = None if error is None else _message(error)
        return Result(
            raw=raw,
            subtype="success" if error is None else build_events.error_subtype(message or ""),
            is_error=error is not None,
            api_error_status=None if error is None else whole(mapping(error, "data"), "statusCode"),
            result=self._answer or "" if error is None else message,
            session_id=self._session,
            total_cost_usd=None if self._cost is None else float(self._cost),
            usage=None if self._tally is None else Usage(**asdict(self._tally)),
            permission_denials=denials or None,
        )

    def _new_id(self) -> str:
        self._unnamed += 1
        return f"unnamed_{self._unnamed}"


def _usage(tokens: dict[str, Any]) -> Usage:
    cache = mapping(tokens, "cache")
    return Usage(
        input_tokens=token_count(tokens.get("input")),
        output_tokens=token_count(tokens.get("output")),
        reasoning_output_tokens=token_count(tokens.get("reasoning")),
        cache_read_input_tokens=token_count(cache.get("read")),
        cache_creation_input_tokens=token_count(cache.get("write")),
    )


def _message(error: dict[str, Any]) -> str | None:
    """Why, in words; an error of a kind without words has at least its name."""
    return text(mapping(error, "data"), "message") or text(error, "message") or text(error, "name")

"""OpenCode (`opencode run --format json`): steps with texts, tools and their cost.

Up to 1.18 nothing marks the end of the run, so the end of the stream makes the result; newer versions print `done`.
An error counts unless more of the answer follows. Input tokens exclude the cached ones.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

from msgspec import Struct, field
from msgspec.structs import asdict

from bridle.wire.dialects import build_events
from bridle.wire.dialects.dialect import DialectDecoder
from bridle.wire.events.decode_tolerant import convert, token_count
from bridle.wire.events.events import Event, Result, Usage
from bridle.wire.events.lines import LINE_LIMIT_BYTES
from bridle.wire.events.loose_json import JsonObject
from bridle.wire.events.system import Init, Notice
from bridle.wire.record.denials import denial_entries
from bridle.wire.record.record import Tally

_MORE_TO_COME = "tool-calls"  # why a step finished, if the next one begins with the tools' results


class ErrorData(Struct, frozen=True):
    """The details of an error."""

    message: str | None = None
    status: int | None = field(default=None, name="statusCode")


class Error(Struct, frozen=True):
    """An error; `data` has its message, if it has one."""

    name: str | None = None
    message: str | None = None
    data: ErrorData = ErrorData()

    @property
    def text(self) -> str | None:
        """The message, else the error's name."""
        return self.data.message or self.message or self.name


class CacheTokens(Struct, frozen=True):
    """Tokens that the cache read and wrote."""

    read: Any = None
    write: Any = None


class Tokens(Struct, frozen=True):
    """The tokens of one step."""

    input: Any = None
    output: Any = None
    reasoning: Any = None
    cache: CacheTokens = CacheTokens()


class ToolState(Struct, frozen=True):
    """The state of a tool call."""

    status: str | None = None
    input: JsonObject = {}
    output: str | None = None
    error: str | None = None


class Part(Struct, frozen=True):
    """A part of a message; each type has some of these fields."""

    id: str | None = None
    message_id: str | None = field(default=None, name="messageID")
    call_id: str | None = field(default=None, name="callID")
    text: str | None = None
    reason: str | None = None
    cost: int | float | None = None
    tokens: Tokens = Tokens()
    tool: str | None = None
    state: ToolState = ToolState()


class Line(Struct, frozen=True):
    """One line of `opencode run --format json`."""

    type: str | None = None
    session_id: str | None = field(default=None, name="sessionID")
    part: Part = Part()
    error: Error | str | None = None
    rejected: Any = None


class OpenCode(DialectDecoder):
    """A decoder of one `opencode run --format json` run."""

    def __init__(self, *, limit_bytes: int = LINE_LIMIT_BYTES) -> None:
        super().__init__(limit_bytes=limit_bytes)
        self._session: str | None = None
        self._steps = 0
        self._in_step = self._is_done = False
        self._answer: str | None = None
        self._error: Error | None = None
        self._tally: Tally | None = None
        self._cost: Decimal | None = None

    def decode_object(self, value: JsonObject, raw: bytes) -> list[Event]:
        """Return the events of one line, after an init for the session that the first line names."""
        line = convert(value, Line)
        if self._session is None and line.session_id is not None:
            self._session = line.session_id
            return [Init(raw=raw, session_id=line.session_id), *self._events(line, value, raw)]
        return self._events(line, value, raw)

    def finish(self) -> list[Event]:
        """Return a result, unless the stream ended within a step or without an answer."""
        if self._is_done:
            return []
        if self._error is None and (self._in_step or self._answer is None):
            return []
        return [self._result(b"")]

    def _events(self, line: Line, value: JsonObject, raw: bytes) -> list[Event]:
        match line.type:
            case "step_start":
                self._steps += 1
                self._in_step = True
                return [*self._recover(raw), build_events.ignored_line(value, raw)]
            case "step_finish":
                return [*self._recover(raw), *self._step_finish(line.part, raw)]
            case "text" | "reasoning":
                return [*self._recover(raw), self._text(line.part, value, raw)]
            case "tool_use":
                return [*self._recover(raw), *self._tool(line.part, value, raw)]
            case "error":
                self._error = line.error if isinstance(line.error, Error) else Error(message=line.error)
                return [build_events.ignored_line(value, raw)]
            case "done":
                rejected = denial_entries(line.rejected)
                return [self._result(raw, denials=[_refused_call(entry) for entry in rejected])]
        return [build_events.unknown_line(value, raw)]

    def _message_id(self, part: Part) -> str:
        return part.message_id or f"step_{self._steps}"

    def _recover(self, raw: bytes) -> list[Event]:
        """Turn an error into a warning, since the agent continued after it."""
        if self._error is None:
            return []
        text, self._error = self._error.text, None
        return [Notice(raw=raw, text=text, session_id=self._session)]

    def _step_finish(self, part: Part, raw: bytes) -> list[Event]:
        self._in_step = part.reason == _MORE_TO_COME
        usage = _usage(part.tokens)
        if part.cost is not None and (isinstance(part.cost, int) or math.isfinite(part.cost)):
            self._cost = (self._cost or Decimal(0)) + Decimal(repr(part.cost))
        self._tally = self._tally or Tally()
        self._tally.add(usage)
        return [build_events.usage_message(usage, raw, session=self._session, message_id=self._message_id(part))]

    def _text(self, part: Part, value: JsonObject, raw: bytes) -> Event:
        message_id, session = self._message_id(part), self._session
        if part.text is None:
            return build_events.unknown_line(value, raw)
        if value["type"] == "reasoning":
            return build_events.thinking_message(part.text, raw, session=session, message_id=message_id)
        self._answer = part.text
        return build_events.text_message(part.text, raw, session=session, message_id=message_id)

    def _tool(self, part: Part, value: JsonObject, raw: bytes) -> list[Event]:
        """Return the call and its result: OpenCode prints both at once, when the tool has answered."""
        state, session, message_id = part.state, self._session, self._message_id(part)
        if part.tool is None:
            return [build_events.unknown_line(value, raw)]
        call_id = part.call_id or part.id or self._new_id()
        call = build_events.tool_call(call_id, part.tool, state.input, raw, session=session, message_id=message_id)
        if state.status not in ("completed", "error"):
            return [call]
        is_error = state.status == "error"
        output = (state.error if is_error else state.output) or ""
        return [call, build_events.tool_answer(call_id, output, raw, session=session, is_error=is_error)]

    def _result(self, raw: bytes, *, denials: list[Any] | None = None) -> Result:
        self._is_done = True
        error, self._error = self._error, None
        message = None if error is None else error.text
        return Result(
            raw=raw,
            subtype="success" if error is None else build_events.error_subtype(message or ""),
            is_error=error is not None,
            api_error_status=None if error is None else error.data.status,
            result=self._answer or "" if error is None else message,
            session_id=self._session,
            total_cost_usd=None if self._cost is None else float(self._cost),
            usage=None if self._tally is None else Usage(**asdict(self._tally)),
            permission_denials=denials or None,
        )


def _refused_call(entry: Any) -> Any:
    """Return a refused tool as Claude Code lists it; OpenCode prints its name only."""
    return {"tool_name": entry} if isinstance(entry, str) else entry


def _usage(tokens: Tokens) -> Usage:
    return Usage(
        input_tokens=token_count(tokens.input),
        output_tokens=token_count(tokens.output),
        reasoning_output_tokens=token_count(tokens.reasoning),
        cache_read_input_tokens=token_count(tokens.cache.read),
        cache_creation_input_tokens=token_count(tokens.cache.write),
    )

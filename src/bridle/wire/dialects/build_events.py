"""Builders of events in Claude Code's form from the lines of another agent."""

from __future__ import annotations

import re
from typing import Any

from bridle.wire.events.blocks import Text, Thinking, tool_result, tool_use
from bridle.wire.events.events import ERROR_AUTH, ERROR_RATE, Assistant, Message, StreamEvent, Unknown, Usage, User
from bridle.wire.events.loose_json import JsonObject, to_raw, type_of
from bridle.wire.events.system import IGNORED_LINE, System

ERROR = "error"
ERROR_WITHOUT_MESSAGE = "the agent reported an error without a message"
_LIMIT_REACHED = re.compile(r"quota|usage limit|resource_exhausted", re.IGNORECASE)
_RATE = re.compile(r"429|rate[ -]limit", re.IGNORECASE)
_NOT_LOGGED_IN = re.compile(
    r"openai_api_key|gemini_api_key|(invalid|incorrect) api key|api key not valid", re.IGNORECASE
)


def text_message(
    text: str,
    raw: bytes,
    *,
    session: str | None,
    message_id: str | None = None,
) -> Assistant:
    message = Message(id=message_id, role="assistant", content=(Text(text=text),))
    return Assistant(raw=raw, message=message, session_id=session)


def thinking_message(text: str, raw: bytes, *, session: str | None, message_id: str | None = None) -> Assistant:
    message = Message(id=message_id, role="assistant", content=(Thinking(thinking=text),))
    return Assistant(raw=raw, message=message, session_id=session)


def usage_message(usage: Usage, raw: bytes, *, session: str | None, message_id: str | None) -> Assistant:
    """Build a message with the tokens of an earlier text."""
    return Assistant(raw=raw, message=Message(id=message_id, role="assistant", usage=usage), session_id=session)


def text_delta(text: str, raw: bytes, *, session: str | None, kind: str = "text") -> StreamEvent:
    """Build a delta of a text or of `thinking`; the whole text follows as its own event."""
    delta = {"type": "content_block_delta", "index": 0, "delta": {"type": f"{kind}_delta", kind: text}}
    return StreamEvent(raw=raw, event=to_raw(delta), session_id=session)


def block_start(raw: bytes, *, session: str | None, kind: str = "text") -> StreamEvent:
    """Build the start of a text or of `thinking`, before its first delta."""
    start = {"type": "content_block_start", "index": 0, "content_block": {"type": kind, kind: ""}}
    return StreamEvent(raw=raw, event=to_raw(start), session_id=session)


def message_stop(raw: bytes, *, session: str | None) -> StreamEvent:
    """Build the end of a message from a line that repeats its deltas."""
    return StreamEvent(raw=raw, event=to_raw({"type": "message_stop"}), session_id=session)


def tool_call(
    call_id: str,
    name: str,
    arguments: JsonObject,
    raw: bytes,
    *,
    session: str | None,
    message_id: str | None = None,
) -> Assistant:
    message = Message(id=message_id, role="assistant", content=(tool_use(call_id, name, arguments),))
    return Assistant(raw=raw, message=message, session_id=session)


def tool_answer(call_id: str, content: Any, raw: bytes, *, session: str | None, is_error: bool) -> User:
    """Build a tool result from a string or a list of blocks."""
    block = tool_result(call_id, content, is_error=is_error)
    return User(raw=raw, message=Message(role="user", content=(block,)), session_id=session)


def ignored_line(value: JsonObject, raw: bytes) -> System:
    """Keep a known line that has no fact for the record, whole, in a system event."""
    return System(raw=raw, subtype=IGNORED_LINE, value={"type": "system", "subtype": IGNORED_LINE, "line": value})


def unknown_line(value: JsonObject, raw: bytes) -> Unknown:
    """Keep a line of an unknown type."""
    return Unknown(raw=raw, kind=type_of(value), value=value)


def error_subtype(message: str) -> str:
    """Return the subtype of a failed result by the wording of agents other than Claude Code."""
    if _LIMIT_REACHED.search(message):
        return ERROR_RATE
    return ERROR_AUTH if _NOT_LOGGED_IN.search(message) and not _RATE.search(message) else ERROR

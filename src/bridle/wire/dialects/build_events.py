"""Events made from what another agent said, in the form that Claude Code would have given them."""

from __future__ import annotations

import re
from typing import Any

from bridle.wire.events.blocks import Text, Thinking, tool_result, tool_use
from bridle.wire.events.events import ERROR_AUTH, ERROR_RATE, Assistant, Message, StreamEvent, Unknown, Usage, User
from bridle.wire.events.loose_json import to_raw
from bridle.wire.events.system import IGNORED_LINE, System

ERROR = "error"
_USED_UP = re.compile(r"quota|usage limit|resource_exhausted", re.IGNORECASE)
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
    """Words of the answer."""
    message = Message(id=message_id, role="assistant", content=(Text(text=text),))
    return Assistant(raw=raw, message=message, session_id=session)


def thinking_message(text: str, raw: bytes, *, session: str | None, message_id: str | None = None) -> Assistant:
    """Words of the reasoning."""
    message = Message(id=message_id, role="assistant", content=(Thinking(thinking=text),))
    return Assistant(raw=raw, message=message, session_id=session)


def usage_message(usage: Usage, raw: bytes, *, session: str | None, message_id: str | None) -> Assistant:
    """Tokens of a message whose words came before."""
    return Assistant(raw=raw, message=Message(id=message_id, role="assistant", usage=usage), session_id=session)


def text_delta(text: str, raw: bytes, *, session: str | None, kind: str = "text") -> StreamEvent:
    """Part of a text or of `thinking` under way; the whole follows as an event of its own."""
    delta = {"type": "content_block_delta", "index": 0, "delta": {"type": f"{kind}_delta", kind: text}}
    return StreamEvent(raw=raw, event=to_raw(delta), session_id=session)


def block_start(raw: bytes, *, session: str | None, kind: str = "text") -> StreamEvent:
    """Comes before the first part of a text or of `thinking`."""
    start = {"type": "content_block_start", "index": 0, "content_block": {"type": kind, kind: ""}}
    return StreamEvent(raw=raw, event=to_raw(start), session_id=session)


def message_stop(raw: bytes, *, session: str | None) -> StreamEvent:
    """A message that says again what its parts have said: it ends the message and adds nothing."""
    return StreamEvent(raw=raw, event=to_raw({"type": "message_stop"}), session_id=session)


def tool_call(
    call_id: str,
    name: str,
    arguments: dict[str, Any],
    raw: bytes,
    *,
    session: str | None,
    message_id: str | None = None,
) -> Assistant:
    """A tool call."""
    message = Message(id=message_id, role="assistant", content=(tool_use(call_id, name, arguments),))
    return Assistant(raw=raw, message=message, session_id=session)


def tool_answer(call_id: str, content: Any, raw: bytes, *, session: str | None, is_error: bool) -> User:
    """What a tool answered: a string, or a list of blocks."""
    block = tool_result(call_id, content, is_error=is_error)
    return User(raw=raw, message=Message(role="user", content=(block,)), session_id=session)


def ignored_line(value: dict[str, Any], raw: bytes) -> System:
    """A line that the agent documents and that holds no fact for a record: kept whole inside a system event."""
    return System(raw=raw, subtype=IGNORED_LINE, value={"type": "system", "subtype": IGNORED_LINE, "line": value})


def unknown_line(value: dict[str, Any], raw: bytes) -> Unknown:
    """A line that this version does not know."""
    kind = value.get("type")
    return Unknown(raw=raw, kind=kind if isinstance(kind, str) else "", value=value)


def error_subtype(message: str) -> str:
    """The subtype of a failed result by words that only agents other than Claude Code use."""
    if _USED_UP.search(message):
        return ERROR_RATE
    return ERROR_AUTH if _NOT_LOGGED_IN.search(message) and not _RATE.search(message) else ERROR

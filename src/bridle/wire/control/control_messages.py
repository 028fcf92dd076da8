"""Control messages between a host and an agent, and the user messages that a host sends.

A request has an id chosen by its sender; its response repeats the id, and responses arrive in any order.
Builders return events, which encode.py turns into bytes. The requests are in requests.py.
"""

from __future__ import annotations

from collections.abc import Iterable

from bridle.wire.events.blocks import AnyBlock
from bridle.wire.events.encode import encode
from bridle.wire.events.events import ControlRequest, ControlResponse, Message, User
from bridle.wire.events.loose_json import JsonObject

SUCCESS = "success"
ERROR = "error"


def success(request_id: str, payload: JsonObject | None = None) -> ControlResponse:
    """Build a successful response, with its payload if there is one."""
    answer: JsonObject = {"subtype": SUCCESS, "request_id": request_id}
    return ControlResponse(response=answer if payload is None else {**answer, "response": payload})


def failure(request_id: str, text: str) -> ControlResponse:
    """Build an error response."""
    return ControlResponse(response={"subtype": ERROR, "request_id": request_id, "error": text})


def unsupported(request: ControlRequest) -> ControlResponse:
    """Build the response to a request of an unknown kind; the session continues."""
    return failure(request.request_id, f"Unsupported control request subtype: {request.subtype}")


def user_message(blocks: Iterable[AnyBlock]) -> bytes:
    """Encode a user message for an agent that reads events on stdin."""
    return encode(User(message=Message(role="user", content=tuple(blocks))))

"""Control messages between a host and an agent, and the user messages that a host sends.

A request has an id chosen by its sender; its response repeats the id, and responses arrive in any order.
Builders return events, which encode.py turns into bytes. The requests are in requests.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from bridle.wire.events.blocks import AnyBlock
from bridle.wire.events.encode import encode
from bridle.wire.events.events import ControlResponse, Message, User
from bridle.wire.events.loose_json import JsonObject

RequestId: TypeAlias = str | int | float | None
"""The id of a request: a text, but a host may choose another JSON value, and gets that back."""

SUCCESS = "success"
ERROR = "error"


def success(
    request_id: RequestId, payload: JsonObject | None = None, beside: JsonObject | None = None
) -> ControlResponse:
    """Build a successful response, with its payload if there is one, and fields of the response beside it."""
    answer: JsonObject = {"subtype": SUCCESS, "request_id": request_id}
    if payload is not None:
        answer["response"] = payload
    return ControlResponse(response={**answer, **(beside or {})})


def failure(request_id: RequestId, text: str) -> ControlResponse:
    """Build an error response."""
    return ControlResponse(response={"subtype": ERROR, "request_id": request_id, "error": text})


def unsupported(request_id: RequestId, subtype: object) -> ControlResponse:
    """Build the response to a request of an unknown kind, or of none; the session continues."""
    return failure(request_id, f"Unsupported control request subtype: {subtype or 'undefined'}")


def user_message(blocks: Iterable[AnyBlock]) -> bytes:
    """Encode a user message for an agent that reads events on stdin."""
    return encode(User(message=Message(role="user", content=tuple(blocks))))

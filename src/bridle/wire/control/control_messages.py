"""Control messages: requests and responses between a host and an agent, in both directions.

A request has an id chosen by its sender; its response repeats the id, and responses arrive in any order.
The kinds are in requests.py and responses.py. Builders return events, which encode.py turns into bytes.
Reading never fails: a field of a wrong type counts as missing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bridle.wire.events.blocks import AnyBlock
from bridle.wire.events.encode import encode
from bridle.wire.events.events import ControlCancel, ControlRequest, ControlResponse, Message, User
from bridle.wire.events.loose_json import JsonObject

SUCCESS = "success"
ERROR = "error"


def request(request_id: str, subtype: str, /, **fields: Any) -> ControlRequest:
    """Build a request from its subtype and fields."""
    return ControlRequest(request_id=request_id, request={"subtype": subtype, **fields})


def cancel(request_id: str) -> ControlCancel:
    """Build the cancellation of a request."""
    return ControlCancel(request_id=request_id)


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


def payload_of(answer: ControlResponse) -> JsonObject:
    """Return the payload of a successful response, or an empty object."""
    payload = answer.response.get("response")
    return payload if isinstance(payload, dict) else {}


def error_of(answer: ControlResponse) -> str | None:
    """Return the error of a response, or None if it succeeded."""
    if answer.subtype == SUCCESS:
        return None
    text = answer.response.get("error")
    return text if isinstance(text, str) and text else "the other side reported an error without a message"


def mcp_payload(message: JsonObject) -> JsonObject:
    """Wrap an MCP server's JSON-RPC message as the payload of a response to McpMessage."""
    return {"mcp_response": message}


def user_message(content: str | Iterable[AnyBlock], *, session_id: str | None = None) -> bytes:
    """Encode a user message for an agent that reads events on stdin."""
    body = content if isinstance(content, str) else tuple(content)
    return encode(User(message=Message(role="user", content=body), session_id=session_id))

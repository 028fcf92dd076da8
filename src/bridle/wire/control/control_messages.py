"""Control messages: what a host and an agent ask of each other between events, both ways.

A request carries an id of the asker's choice; its answer names that id, and answers come in any order.
What can be asked: requests.py; answers that decide something: responses.py. Building gives events (encode.py makes the
bytes). Reading never fails: what has the wrong type counts as not sent.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bridle.wire.events.blocks import AnyBlock
from bridle.wire.events.encode import encode
from bridle.wire.events.events import ControlCancel, ControlRequest, ControlResponse, Message, User

SUCCESS = "success"
ERROR = "error"


def request(request_id: str, subtype: str, /, **fields: Any) -> ControlRequest:
    """Any request, by its name and fields on the wire."""
    return ControlRequest(request_id=request_id, request={"subtype": subtype, **fields})


def cancel(request_id: str) -> ControlCancel:
    """The asker wants no answer any more."""
    return ControlCancel(request_id=request_id)


def success(request_id: str, payload: dict[str, Any] | None = None) -> ControlResponse:
    """The answer that it was done, with what was asked for where there is something."""
    answer: dict[str, Any] = {"subtype": SUCCESS, "request_id": request_id}
    return ControlResponse(response=answer if payload is None else {**answer, "response": payload})


def failure(request_id: str, text: str) -> ControlResponse:
    """The answer that it was not done, and why."""
    return ControlResponse(response={"subtype": ERROR, "request_id": request_id, "error": text})


def unsupported(asked: ControlRequest) -> ControlResponse:
    """The answer to a request that nobody here knows; the session goes on."""
    return failure(asked.request_id, f"Unsupported control request subtype: {asked.subtype}")


def payload_of(answer: ControlResponse) -> dict[str, Any]:
    """What a successful answer brought; empty where it brought nothing."""
    payload = answer.response.get("response")
    return payload if isinstance(payload, dict) else {}


def error_of(answer: ControlResponse) -> str | None:
    """Why the other side refused; None where it did not."""
    if answer.subtype == SUCCESS:
        return None
    text = answer.response.get("error")
    return text if isinstance(text, str) and text else "the other side refused without saying why"


def mcp_payload(message: dict[str, Any]) -> dict[str, Any]:
    """A server's JSON-RPC answer in the form that an answer to McpMessage has."""
    return {"mcp_response": message}


def user_message(content: str | Iterable[AnyBlock], *, session_id: str | None = None) -> bytes:
    """The line that says something to an agent which reads events on its input."""
    said = content if isinstance(content, str) else tuple(content)
    return encode(User(message=Message(role="user", content=said), session_id=session_id))

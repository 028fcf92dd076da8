"""Standard input of a stream-json session: decoded line by line in a thread while turns run."""

from __future__ import annotations

import asyncio
import os
import threading
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from bridle.agent.stdio.inbox import Inbox, Prompt, Unreadable
from bridle.wire.events.events import ControlResponse
from bridle.wire.events.lines import Lines, Oversize
from bridle.wire.events.loose_json import JsonObject

if TYPE_CHECKING:
    from bridle.wire.control.control_messages import RequestId

_CHUNK_BYTES = 256 * 1024


class HostRequest(msgspec.Struct, frozen=True):
    """A control request of the host."""

    request_id: RequestId
    request: JsonObject


class Cancelled(msgspec.Struct, frozen=True):
    """The host cancels a control request that it has sent."""

    request_id: RequestId


Item: TypeAlias = Prompt | HostRequest | ControlResponse | Cancelled | Unreadable


class _Line(msgspec.Struct):
    """The fields that a host may send; any of them may have the wrong type."""

    type: Any = None
    uuid: Any = None
    message: Any = None
    request_id: Any = None
    request: Any = None
    response: Any = None
    should_query: Any = msgspec.field(default=None, name="shouldQuery")


class _Message(msgspec.Struct):
    """The message of a line of type `user`."""

    role: Any = None
    content: Any = None


def read_line(line: bytes) -> Item | None:
    """Decode a line; None for one that is ignored: blank, JSON that is not an object, or of an unknown type."""
    if not line.strip():
        return None
    try:
        value = _decode(line)
    except (RecursionError, ValueError) as error:
        return Unreadable(f"{error}: {_excerpt(line)}")
    if not isinstance(value, dict):
        return None
    decoded = msgspec.convert(value, _Line)
    match decoded.type:
        case "user":
            return _prompt(decoded)
        case "control_request":
            if decoded.request is None or not _is_id(decoded.request_id):
                return Unreadable(f"a control request needs request_id and request: {_excerpt(line)}")
            return HostRequest(decoded.request_id, decoded.request if isinstance(decoded.request, dict) else {})
        case "control_cancel_request":
            return Cancelled(decoded.request_id) if _is_id(decoded.request_id) else None
        case "control_response":
            return ControlResponse(response=decoded.response) if isinstance(decoded.response, dict) else None
        case _:
            return None


def _decode(line: bytes) -> Any:
    """Decode a line with U+FFFD for half of a character and for bytes that are not UTF-8. Raises ValueError."""
    try:
        return msgspec.json.decode(line)
    except (RecursionError, ValueError):  # an error of msgspec's decoder is a ValueError
        import json  # late: such lines are rare

        from bridle.wire.events.loose_json import without_surrogates

        return without_surrogates(json.loads(line.decode("utf-8", "replace"), parse_constant=_refuse_constant))


def _is_id(value: object) -> bool:
    """Return whether a JSON value can be the id of a request: a text, a number or none."""
    return value is None or isinstance(value, (str, int, float))


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _prompt(line: _Line) -> Prompt | Unreadable:
    message = msgspec.convert(line.message, _Message) if isinstance(line.message, dict) else _Message(role="user")
    if message.role != "user":
        return Unreadable(f"expected message role 'user', got {message.role!r}")
    uuid = line.uuid if isinstance(line.uuid, str) else None
    content = message.content
    if isinstance(content, str):
        return Prompt(content, uuid, line.should_query is not False)
    if isinstance(content, list) and all(isinstance(block, dict) and "type" in block for block in content):
        return Prompt(content, uuid, line.should_query is not False)
    return Unreadable("the content of a user message must be a text or a list of blocks")


def _excerpt(line: bytes) -> str:
    return line[:200].decode("utf-8", "replace")


def listen(inbox: Inbox, loop: asyncio.AbstractEventLoop, *, descriptor: int = 0) -> None:
    """Read a descriptor to its end in a daemon thread."""
    threading.Thread(target=_read_all, args=(inbox, loop, descriptor), name="input", daemon=True).start()


def _read_all(inbox: Inbox, loop: asyncio.AbstractEventLoop, descriptor: int) -> None:
    lines = Lines()
    try:
        while chunk := _read(descriptor):
            _deliver(inbox, loop, lines.feed(chunk))
        _deliver(inbox, loop, lines.end())
        loop.call_soon_threadsafe(inbox.end)
    except RuntimeError:  # the event loop is closed
        return


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, _CHUNK_BYTES)
    except OSError:  # closed by the parent process, or a terminal that is gone
        return b""


def _deliver(inbox: Inbox, loop: asyncio.AbstractEventLoop, lines: list[bytes | Oversize]) -> None:
    for line in lines:
        if isinstance(line, Oversize):
            item: Item | None = Unreadable(f"a line of {line.size_bytes} bytes is too long")
        else:
            item = read_line(line)
        match item:
            case Prompt():
                loop.call_soon_threadsafe(inbox.add_prompt, item)
            case HostRequest():
                loop.call_soon_threadsafe(inbox.add_control, item.request_id, item.request)
            case Cancelled():
                loop.call_soon_threadsafe(inbox.on_cancel, item.request_id)
            case Unreadable():
                loop.call_soon_threadsafe(inbox.add_invalid, item)
            case ControlResponse():
                loop.call_soon_threadsafe(inbox.on_response, item)
            case None:
                pass

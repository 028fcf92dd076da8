"""Standard input: read while a turn goes on, line by line, and turned into what a host can say."""

from __future__ import annotations

import asyncio
import os
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

import msgspec

from bridle.wire.events.lines import Lines, Oversize

_CHUNK_BYTES = 256 * 1024


class Said(msgspec.Struct, frozen=True):
    """A message of the user."""

    content: str | list[dict[str, Any]]
    uuid: str | None = None

    @property
    def text(self) -> str:
        """Its words."""
        if isinstance(self.content, str):
            return self.content
        texts = (block.get("text") for block in self.content if block.get("type") == "text")
        return "\n".join(text for text in texts if isinstance(text, str))


class Asked(msgspec.Struct, frozen=True):
    """A control request of the host."""

    request_id: str
    request: dict[str, Any]

    @property
    def subtype(self) -> str:
        """What is asked for."""
        value = self.request.get("subtype")
        return value if isinstance(value, str) else ""


class Answered(msgspec.Struct, frozen=True):
    """The host's answer to a control request of ours."""

    response: dict[str, Any]


class Unreadable(msgspec.Struct, frozen=True):
    """A line that is not what a host may send; nothing after it is read."""

    reason: str


Item = Said | Asked | Answered | Unreadable


def read_line(line: bytes) -> Item | None:
    """What a line says; None for a type that nobody here knows, which is passed over."""
    try:
        value = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        return Unreadable(f"{error}: {_excerpt(line)}")
    if not isinstance(value, dict):
        return Unreadable(f"not an object: {_excerpt(line)}")
    match value.get("type"):
        case "user":
            return _said(value)
        case "control_request":
            request_id, request = value.get("request_id"), value.get("request")
            if not isinstance(request_id, str) or not isinstance(request, dict):
                return Unreadable(f"a control request needs request_id and request: {_excerpt(line)}")
            return Asked(request_id, request)
        case "control_response":
            response = value.get("response")
            return Answered(response) if isinstance(response, dict) else None
        case _:
            return None


def _said(value: dict[str, Any]) -> Item:
    message = value.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(message, dict) and message.get("role") != "user":
        return Unreadable(f"expected message role 'user', got {message.get('role')!r}")
    uuid = value.get("uuid")
    given = uuid if isinstance(uuid, str) else None
    if isinstance(content, str):
        return Said(content, given)
    if isinstance(content, list) and all(isinstance(block, dict) and "type" in block for block in content):
        return Said(content, given)
    return Unreadable("a user message needs content: text, or a list of blocks")


def _excerpt(line: bytes) -> str:
    return line[:200].decode("utf-8", "replace")


class Inbox(msgspec.Struct):
    """What the host has said and nobody has taken yet."""

    messages: deque[Said] = msgspec.field(default_factory=deque)
    on_control: Callable[[Asked], None] | None = None
    """Called at once, in the event loop."""
    broken: Unreadable | None = None
    at_end: bool = False
    changed: asyncio.Event = msgspec.field(default_factory=asyncio.Event)

    def put(self, item: Item) -> None:
        """Take in what a line said."""
        match item:
            case Said():
                self.messages.append(item)
            case Asked():
                if self.on_control is not None:
                    self.on_control(item)
            case Unreadable():
                self.broken = self.broken or item
            case Answered():
                pass  # nothing is asked of hosts yet
        self.changed.set()

    def end(self) -> None:
        """No more will come."""
        self.at_end = True
        self.changed.set()


def listen(inbox: Inbox, loop: asyncio.AbstractEventLoop, *, descriptor: int = 0) -> None:
    """Read a descriptor to its end in a thread, whatever it is; nobody waits for that thread."""
    threading.Thread(target=_read_all, args=(inbox, loop, descriptor), name="input", daemon=True).start()


def _read_all(inbox: Inbox, loop: asyncio.AbstractEventLoop, descriptor: int) -> None:
    lines = Lines()
    try:
        while chunk := _read(descriptor):
            _deliver(inbox, loop, lines.feed(chunk))
        _deliver(inbox, loop, lines.end())
        loop.call_soon_threadsafe(inbox.end)
    except RuntimeError:  # the loop is closed: nobody listens any more
        return


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, _CHUNK_BYTES)
    except OSError:  # closed by whoever started us, or a terminal that went away: there is no more input
        return b""


def _deliver(inbox: Inbox, loop: asyncio.AbstractEventLoop, found: list[bytes | Oversize]) -> None:
    for line in found:
        if isinstance(line, Oversize):
            item: Item | None = Unreadable(f"a line of {line.size_bytes} bytes is too long")
        else:
            item = read_line(line)
        if item is not None:
            loop.call_soon_threadsafe(inbox.put, item)

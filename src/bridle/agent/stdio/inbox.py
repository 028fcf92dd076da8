"""The queue between standard input and the turns: prompts that were read and not processed yet."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from bridle.agent.model.api.question import Content
from bridle.agent.sessions.api_messages import text_of
from bridle.wire.events.events import ControlResponse

if TYPE_CHECKING:
    from bridle.wire.control.control_messages import RequestId


class Prompt(msgspec.Struct, frozen=True):
    """A message of the user."""

    content: Content
    uuid: str | None = None
    wants_answer: bool = True
    """Whether it begins a turn; else it only joins the conversation."""

    @property
    def text(self) -> str:
        """The text of the message, without images and documents."""
        return text_of(self.content)


class Unreadable(msgspec.Struct, frozen=True):
    """An invalid line; input after it is ignored."""

    reason: str


class Inbox(msgspec.Struct):
    """Input that was read and not processed yet."""

    messages: deque[Prompt] = msgspec.field(default_factory=deque)
    received: set[str] = msgspec.field(default_factory=set)
    """The ids of the messages of this session; one that comes again is not answered again."""
    on_repeated: Callable[[Prompt], None] = lambda _prompt: None
    """Called with a message that came before."""
    on_control: Callable[[RequestId, dict[str, Any]], None] | None = None
    """Handles a control request, by its id and content, at once in the event loop."""
    on_cancel: Callable[[RequestId], None] = lambda _request_id: None
    """Cancels a control request that the host has sent, by its id."""
    on_response: Callable[[ControlResponse], None] = lambda _response: None
    """Receives the host's response to a request of this program."""
    on_end: Callable[[], None] = lambda: None
    """Called when the input has ended."""
    invalid: Unreadable | None = None
    """The first invalid line."""
    at_end: bool = False
    changed: asyncio.Event = msgspec.field(default_factory=asyncio.Event)

    def add_prompt(self, prompt: Prompt) -> None:
        """Queue a message of the user, unless its id came before."""
        if prompt.uuid is not None:
            if prompt.uuid in self.received:
                self.on_repeated(prompt)
                return
            self.received.add(prompt.uuid)
        self.messages.append(prompt)
        self.changed.set()

    def remove(self, uuid: str) -> bool:
        """Remove a message that waits; return whether it was there."""
        waiting = [prompt for prompt in self.messages if prompt.uuid == uuid]
        for prompt in waiting:
            self.messages.remove(prompt)
        return bool(waiting)

    def add_control(self, request_id: RequestId, request: dict[str, Any]) -> None:
        if self.on_control is not None:
            self.on_control(request_id, request)
        self.changed.set()

    def add_invalid(self, line: Unreadable) -> None:
        """Record an invalid line; the first one is reported."""
        self.invalid = self.invalid or line
        self.changed.set()

    def end(self) -> None:
        """Mark the end of the input."""
        self.at_end = True
        self.on_end()
        self.changed.set()

"""One question to the model."""

from __future__ import annotations

from typing import Any, TypeAlias, TypedDict

from msgspec import Struct

from bridle.agent.model.api.models import Model

Block: TypeAlias = dict[str, Any]
"""A content block, verbatim: it goes back to the endpoint with every field that came."""
Content: TypeAlias = str | list[Block]
Usage: TypeAlias = dict[str, Any]
"""The `usage` of an answer, verbatim: clients see every field that came."""


class Message(TypedDict):
    """One message of a request."""

    role: str
    content: Content


class Question(Struct, frozen=True):
    """What is sent: the conversation so far, the tools, and how to think about it.

    Messages may have the role `system` whatever the model: where it does not take them, they are sent as reminders
    in the user's. No block needs a caching mark; they are set when the request is made.
    """

    model: Model
    messages: tuple[Message, ...]
    system: tuple[Block, ...] = ()
    tools: tuple[Block, ...] = ()
    thinking_tokens: int | None = None
    """What a flag or a control request said; None leaves it to the environment and the model."""
    effort: str | None = None
    max_tokens: int | None = None
    """None: what the model's entry and the environment say."""
    tool_choice: dict[str, Any] | None = None
    fallbacks: tuple[Model, ...] = ()
    """Who is asked, in this order, when the model is overloaded or refused for good."""
    session_id: str | None = None

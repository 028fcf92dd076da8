"""How a conversation is held, and who the model is asked to be in it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from bridle.agent.conversation.turn_host import Limits
from bridle.agent.model.api.models import Model
from bridle.agent.permissions.rules.policy import Policy
from bridle.agent.stdio import output_events


class ConversationOptions(msgspec.Struct, frozen=True):
    """How the conversation is held, from the command line."""

    is_stream: bool
    """Whether the host talks over standard input."""
    shows_frames: bool = False
    replays: bool = False
    limits: Limits = msgspec.field(default_factory=Limits)
    effort: str | None = None
    thinking_tokens: int | None = None
    fallbacks: tuple[Model, ...] = ()


class ModelSetup(msgspec.Struct):
    """Who the model is asked to be and what it may do; a control request may change it between requests."""

    model: Model
    policy: Policy
    system: Callable[[], Awaitable[list[dict[str, Any]]]]
    """The system prompt, made when the first request needs it."""
    reminder: Callable[[], Awaitable[list[dict[str, Any]]]]
    """What stands before the first words of the user."""
    opening: Callable[[], output_events.Opening]
    """What `init` says now."""
    listing: str | None = None
    """What the model is told about skills."""


class Called(msgspec.Struct, frozen=True):
    """A skill that the user called by its name."""

    shown: str
    """How the call is written down."""
    body: str
    """What the model reads."""

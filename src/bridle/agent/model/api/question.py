"""A question to the model."""

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
    """The conversation so far, the tools, and the parameters of a request.

    Messages may have the role `system` with every model: where the API does not accept it, they are sent as reminders
    in the user's messages. Cache marks are added when the request is built.
    """

    model: Model
    messages: tuple[Message, ...]
    system: tuple[Block, ...] = ()
    tools: tuple[Block, ...] = ()
    thinking_tokens: int | None = None
    """From a flag or a control request; None leaves it to the environment and the model."""
    thinking_display: str | None = None
    """`summarized` or `omitted`; None leaves it to the endpoint."""
    task_budget: int | None = None
    """How many tokens the model should spend on its whole task."""
    effort: str | None = None
    max_tokens: int | None = None
    """None for the default of the model and the environment."""
    tool_choice: Block | None = None
    answer_format: Block | None = None
    """The form of the answer, a JSON schema; None for free text."""
    fallbacks: tuple[Model, ...] = ()
    """Models that are used, in this order, if the model is overloaded or fails permanently."""
    session_id: str | None = None
    is_cached: bool = True
    """Whether it has cache marks; a question that is asked once needs none."""

"""What the model layer tells the conversation while an answer comes in."""

from __future__ import annotations

from typing import Any, TypeAlias

from msgspec import Struct

from bridle.agent.model.api.models import Model

UNPARSED = "__unparsedToolInput"
"""The only key of a tool input that is not a JSON object."""


class StreamFrame(Struct, frozen=True):
    """One object of the event stream, as the endpoint sent it (`stream_event` shows it)."""

    data: dict[str, Any]


class AnswerStarted(Struct, frozen=True):
    """The answer has begun: its message without content, with the usage known so far."""

    message: dict[str, Any]
    request_id: str | None
    final: bool = False
    """Whether usage and stop reason in it are final: the answer came whole, not as a stream."""


class BlockFinished(Struct, frozen=True):
    """A content block is complete. Comes before the Frame that ends the block.

    The input of a tool call that is not JSON is `{"__unparsedToolInput": {"raw": …, "len": …}}`.
    """

    index: int
    block: dict[str, Any]


class ThinkingProgress(Struct, frozen=True):
    """About how many tokens the model has thought so far in this block, and how many more since the last one."""

    estimated_tokens: int
    delta: int


class AnswerFinished(Struct, frozen=True):
    """The answer is complete."""

    stop_reason: str | None
    stop_sequence: str | None
    usage: dict[str, Any]
    """Final, as the endpoint counts it."""
    stop_details: dict[str, Any] | None = None


class Retrying(Struct, frozen=True):
    """The request failed and is tried again after a wait; shown as `system/api_retry`."""

    attempt: int
    max_retries: int
    delay_ms: float
    status: int | None
    error: str


class AnswerRestarted(Struct, frozen=True):
    """The stream broke off: what came of this answer no longer counts, and another follows."""


class AnswerBroken(Struct, frozen=True):
    """The stream broke off after a tool call was complete: what came stands, and nothing more of this answer comes.

    The call may have begun and cannot be taken back, so the turn goes on with its result. Comes in place of Ended.
    """

    text: str
    """What the synthetic assistant event says."""
    error: str
    status: int | None
    request_id: str | None
    usage: dict[str, Any]
    """What the endpoint had counted so far."""


class ModelFallback(Struct, frozen=True):
    """The model was overloaded too often or refused for good; this request and all that follow go to another one."""

    original: str
    fallback: str
    model: Model
    """The other one."""
    trigger: str
    """`overloaded` or `last_resort`."""
    content: str
    """The same for people."""


AnswerPiece: TypeAlias = (
    StreamFrame
    | AnswerStarted
    | BlockFinished
    | ThinkingProgress
    | AnswerFinished
    | Retrying
    | AnswerRestarted
    | AnswerBroken
    | ModelFallback
)

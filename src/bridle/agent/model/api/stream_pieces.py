"""The pieces of an answer, and the interface of the client that yields them to the conversation."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Protocol, TypeAlias

from msgspec import Struct

from bridle.agent.model.api.models import Model
from bridle.agent.model.api.question import Question

UNPARSED = "__unparsedToolInput"
"""The only key of a tool input that was not a JSON object."""

JsonObject: TypeAlias = dict[str, Any]
"""An object of the Messages API, as received."""


class StreamFrame(Struct, frozen=True):
    """One frame of the stream; printed as `stream_event`."""

    data: JsonObject
    """As received."""
    type: str | None
    text: str = ""
    """The text that it adds to a block."""


class AnswerStarted(Struct, frozen=True):
    """The answer has started: its message without content, with the usage so far."""

    message: JsonObject
    request_id: str | None
    final: bool = False
    """Whether its usage and stop reason are final, because the answer was not streamed."""


class BlockFinished(Struct, frozen=True):
    """A content block is complete. Precedes the StreamFrame that ends the block.

    The input of a tool call that is not JSON is `{"__unparsedToolInput": {"raw": …, "len": …}}`.
    """

    index: int
    block: JsonObject


class ThinkingProgress(Struct, frozen=True):
    """The estimated thinking tokens of this block so far, and since the last piece."""

    estimated_tokens: int
    delta: int


class AnswerFinished(Struct, frozen=True):
    """The answer is complete."""

    stop_reason: str | None
    stop_sequence: str | None
    usage: JsonObject
    """Final, as counted by the endpoint."""
    stop_details: JsonObject | None = None


class Retrying(Struct, frozen=True):
    """The request failed and is retried after a delay; printed as `system/api_retry`."""

    attempt: int
    max_retries: int
    delay_ms: float
    status: int | None
    error: str


class AnswerRestarted(Struct, frozen=True):
    """The stream broke: the answer so far is discarded, and another follows."""


class AnswerBroken(Struct, frozen=True):
    """The stream broke after a complete tool call: the answer so far is kept, and nothing follows.

    The call may have started and cannot be undone, so the turn continues with its result. Replaces AnswerFinished.
    """

    text: str
    """The text of the synthetic assistant event."""
    error: str
    status: int | None
    request_id: str | None
    usage: JsonObject
    """As counted by the endpoint so far."""


class ModelFallback(Struct, frozen=True):
    """The model failed permanently; this request and all later ones use the fallback model."""

    original: str
    fallback: str
    model: Model
    """The fallback model."""
    trigger: str
    """`overloaded` or `last_resort`."""
    content: str
    """The message for users."""


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


class ModelClient(Protocol):
    """A client of a model; the client itself is imported after the first event is printed."""

    def answer(self, question: Question) -> AsyncIterator[AnswerPiece]:
        """Send a question and yield the pieces of its answer; raise ModelFailure if it fails."""

    async def close(self) -> None:
        """Close all connections."""

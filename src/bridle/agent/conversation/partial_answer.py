"""An answer of the model as far as it has come, and where what was said is written down."""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from bridle.agent.conversation.running_calls import RunningCalls
from bridle.agent.model.api.stream_pieces import AnswerFinished
from bridle.agent.tools.toolbox import FinishedCall
from bridle.errors import ModelFailure

REJECTED = (
    "This call was stopped before it was done: the user interrupted. Whatever it had not done yet did not happen. "
    "Stop here, and wait for the user to say how to go on."
)
REJECTED_DETAIL = "User rejected tool use"


class PartialAnswer(msgspec.Struct):
    """An answer of the model as far as it has come."""

    calls: RunningCalls
    message: dict[str, Any] = msgspec.field(default_factory=dict)
    request_id: str | None = None
    is_final: bool = False
    blocks: list[dict[str, Any]] = msgspec.field(default_factory=list)
    uuids: list[str] = msgspec.field(default_factory=list)
    partial: str = ""
    """Text of a block that is not complete yet."""
    ended: AnswerFinished | None = None

    @property
    def text(self) -> str:
        """Its words."""
        return "".join(block["text"] for block in self.blocks if block.get("type") == "text")

    @property
    def is_visible(self) -> bool:
        """Whether there is anything that a person would see."""
        return any(
            block.get("type") == "tool_use" or (block.get("type") == "text" and block.get("text", "").strip())
            for block in self.blocks
        )

    @property
    def last_text(self) -> str:
        """Its last words, which programs take for the result."""
        texts = [str(block["text"]) for block in self.blocks if block.get("type") == "text"]
        return texts[-1] if texts else ""

    @property
    def model(self) -> str:
        """Who answered, in the endpoint's words."""
        return str(self.message.get("model") or "")


class Ledger(Protocol):
    """Where a turn writes what must last; the conversation gives it."""

    def heard(self, spoken: PartialAnswer) -> None:
        """The model's answer is complete, as far as it will ever be."""

    def answered(self, results: list[tuple[FinishedCall, str]], *, uuids_of_calls: dict[str, str]) -> None:
        """The calls of an answer have their results: each with the id of its event."""

    def told(self, text: str, uuid: str, *, is_meta: bool) -> None:
        """The program said something to the model on the user's side."""

    def failed(self, message: dict[str, Any], uuid: str, failure: ModelFailure) -> None:
        """The model could not be asked; this stands in its place."""

    async def keep(self) -> None:
        """Make all of it durable."""

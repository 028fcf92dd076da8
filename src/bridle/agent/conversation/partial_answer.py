"""An answer of the model as far as it has been received."""

from __future__ import annotations

import msgspec

from bridle.agent.conversation.running_calls import RunningCalls
from bridle.agent.model.api.question import Block
from bridle.agent.model.api.stream_pieces import AnswerFinished
from bridle.agent.sessions.api_messages import AnswerHead, block_type


class PartialAnswer(msgspec.Struct):
    """An answer of the model as far as it has been received."""

    calls: RunningCalls
    head: AnswerHead = AnswerHead()
    request_id: str | None = None
    is_final: bool = False
    """Whether `head` has the final usage: the answer came whole, not as a stream."""
    blocks: list[tuple[str, Block]] = msgspec.field(default_factory=list)
    """The complete blocks, each with the id of its event."""
    partial_text: str = ""
    """The text of a block that is not complete yet."""
    ended: AnswerFinished | None = None
    is_counted: bool = False
    """Whether its usage is in the sums."""
    is_logged: bool = False
    """Whether it is in the history."""

    @property
    def is_visible(self) -> bool:
        """Whether the answer has a tool call or a text that is not blank."""
        return any(block_type(block) == "tool_use" for _, block in self.blocks) or any(map(str.strip, self.texts))

    @property
    def texts(self) -> list[str]:
        """The texts of its blocks; the last one is the result of a turn."""
        return [str(block["text"]) for _, block in self.blocks if block_type(block) == "text"]

    @property
    def model(self) -> str:
        """The name of the model, as the endpoint sent it."""
        return str(self.head.model or "")

    def event_id(self, call_id: str) -> str:
        """Return the id of the event that showed a call."""
        return next(uuid for uuid, block in reversed(self.blocks) if str(block.get("id")) == call_id)

"""What a turn needs of the conversation that it is part of."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, Protocol

import msgspec

from bridle.agent.conversation.partial_answer import Ledger
from bridle.agent.conversation.turn_result import Totals
from bridle.agent.model.api.stream_pieces import AnswerPiece, ModelFallback
from bridle.agent.permissions.rules.policy import Policy
from bridle.agent.tools.structured_output import StructuredOutput
from bridle.agent.tools.toolbox import FinishedCall, Toolbox, ToolCall


class Limits(msgspec.Struct, frozen=True):
    """Where a turn ends without an answer."""

    max_turns: int | None = None
    max_budget_usd: float | None = None


class TurnHost(Protocol):
    """The conversation, as its turns see it."""

    totals: Totals
    toolbox: Toolbox
    structured: StructuredOutput | None

    @property
    def ledger(self) -> Ledger:
        """Where what was said is written down."""

    @property
    def session_id(self) -> str:
        """The id of the session."""

    @property
    def limits(self) -> Limits:
        """Where a turn ends without an answer."""

    @property
    def shows_frames(self) -> bool:
        """Whether the pieces of an answer are shown as they come."""

    @property
    def shown_model(self) -> str:
        """The model's name as `init` shows it."""

    def ask(self, *, tool_choice: dict[str, Any] | None) -> AsyncGenerator[AnswerPiece, None]:
        """Ask the model with the history as it is."""

    async def run(self, call: ToolCall) -> FinishedCall:
        """Run a tool call, if it may run."""

    def policy(self) -> Policy:
        """What may run now."""

    def emit(self, event: dict[str, Any]) -> None:
        """Print an event."""

    async def pace(self) -> None:
        """Wait for a reader that is too far behind."""

    def count(self, model: str, usage: dict[str, Any]) -> None:
        """Count an answer."""

    def fall_back(self, piece: ModelFallback) -> dict[str, Any]:
        """Another model steps in; what the event says about it."""

    def take_meanwhile(self) -> None:
        """Tell the model what the user wrote while it worked."""

    def catch_up(self) -> None:
        """Tell what has happened in the background."""

    async def make_room(self) -> bool:
        """Put a summary in the place of what does not fit; False where that did not work."""

"""Who answers: what a conversation knows of the model's client, so that the client itself can be loaded late."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from bridle.agent.model.api.question import Question
from bridle.agent.model.api.stream_pieces import AnswerPiece


class ModelClient(Protocol):
    """Somebody who asks a model."""

    def answer(self, ask: Question) -> AsyncIterator[AnswerPiece]:
        """Ask, and give the pieces of the answer; raises ModelFailure when there is none."""

    async def close(self) -> None:
        """Let go of every connection."""

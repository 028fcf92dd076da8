"""The interface of the model's client, which keeps the client itself out of the start."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from bridle.agent.model.api.question import Question
from bridle.agent.model.api.stream_pieces import AnswerPiece


class ModelClient(Protocol):
    """A client of a model."""

    def answer(self, question: Question) -> AsyncIterator[AnswerPiece]:
        """Send a question and yield the pieces of its answer; raise ModelFailure if it fails."""

    async def close(self) -> None:
        """Close all connections."""

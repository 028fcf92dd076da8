"""A question to the model beside the conversation: no tools, and only its words count."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import Any, cast

from bridle.agent.model.api.client_protocol import ModelClient
from bridle.agent.model.api.question import Question
from bridle.agent.model.api.stream_pieces import (
    AnswerFinished,
    AnswerPiece,
    AnswerRestarted,
    AnswerStarted,
    BlockFinished,
)

Count = Callable[[str, dict[str, Any]], None]


async def words(client: ModelClient, ask: Question, count: Count) -> str:
    """What the model says; what it used is counted. ModelFailure where it cannot be asked."""
    text, model = "", ""
    stream = cast("AsyncGenerator[AnswerPiece, None]", client.answer(ask))
    try:
        async for piece in stream:
            match piece:
                case AnswerStarted():
                    model = str(piece.message.get("model") or "")
                case BlockFinished() if piece.block.get("type") == "text":
                    text += piece.block["text"]
                case AnswerRestarted():
                    text = ""
                case AnswerFinished():
                    count(model, piece.usage)
                case _:
                    pass
    finally:
        await stream.aclose()
    return text

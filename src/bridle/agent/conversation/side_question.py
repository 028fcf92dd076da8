"""A question to the model outside the conversation: without tools, and only the text of the answer counts."""

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
from bridle.agent.sessions.api_messages import AnswerHead, block_type

CountUsage = Callable[[str, dict[str, Any]], None]
"""Counts the usage (second) of an answer of a model (first)."""


async def ask_for_text(client: ModelClient, question: Question, count: CountUsage) -> str:
    """Return the text of the answer. Raises ModelFailure if there is none."""
    text, model = "", ""
    stream = cast("AsyncGenerator[AnswerPiece, None]", client.answer(question))
    try:
        async for piece in stream:
            match piece:
                case AnswerStarted():
                    model = str(AnswerHead.of(piece.message).model or "")
                case BlockFinished() if block_type(piece.block) == "text":
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

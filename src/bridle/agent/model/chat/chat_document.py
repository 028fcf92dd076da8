"""Translates a chat completion in one document into a message of the Messages API. Pure."""

from __future__ import annotations

from typing import Any

from bridle.agent.model.api.stream_assembly import Assembly, decode_frame
from bridle.agent.model.api.stream_pieces import AnswerFinished, AnswerStarted, BlockFinished, JsonObject
from bridle.agent.model.chat.chat_stream import ChatAnswer


def whole_message(document: Any, answer: ChatAnswer) -> JsonObject | None:
    """Return the message of a completion; None if the document has no choice."""
    choices = document.get("choices") if isinstance(document, dict) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        return None
    assembly = Assembly(None)
    frames = [*answer.add({**document, "choices": [{**choices[0], "index": 0}]}), *answer.end()]
    pieces = [piece for frame in frames for piece in assembly.add(frame, decode_frame(frame))]
    message = next(piece.message for piece in pieces if isinstance(piece, AnswerStarted))
    blocks = [piece.block for piece in pieces if isinstance(piece, BlockFinished)]
    ended = next(piece for piece in pieces if isinstance(piece, AnswerFinished))
    return {**message, "content": blocks, "stop_reason": ended.stop_reason, "usage": ended.usage}

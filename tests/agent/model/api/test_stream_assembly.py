"""Frames of a stream as servers really send them."""

from __future__ import annotations

from typing import Any

import pytest

from bridle.agent.model.api.stream_assembly import Assembly, decode_frame
from bridle.agent.model.api.stream_pieces import AnswerFinished, AnswerPiece, BlockFinished, StreamFrame

START = {"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 5}}}
BLOCK = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "He"}}
TEXT = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "llo"}}
STOP = {"type": "content_block_stop", "index": 0}
END = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}}
LAST = {"type": "message_stop"}


def assemble(*frames: dict[str, Any]) -> list[AnswerPiece]:
    assembly = Assembly("r")
    return [piece for frame in frames for piece in assembly.add(frame, decode_frame(frame))]


@pytest.mark.parametrize(
    "odd",
    [
        {"type": "unheard_of", "delta": {"type": "text_delta", "text": "x"}},
        {"type": 7},
        {},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": 7}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "unheard_of", "text": "x"}},
        {"type": "content_block_delta", "index": 0, "delta": None},
        {"type": "content_block_delta", "index": 3, "delta": {"type": "text_delta", "text": "x"}},
        {"type": "content_block_stop", "index": 9},
        {"type": "message_delta", "delta": {"stop_reason": None}, "usage": None},
        {"type": "message_delta", "delta": "x", "usage": []},
    ],
)
def test_a_frame_that_is_odd_changes_nothing_and_is_passed_on(odd: dict[str, Any]) -> None:
    pieces = assemble(START, BLOCK, odd, TEXT, STOP, END, odd, LAST)
    assert [piece for piece in pieces if isinstance(piece, BlockFinished)] == [
        BlockFinished(0, {"type": "text", "text": "Hello"})
    ]
    [finished] = [piece for piece in pieces if isinstance(piece, AnswerFinished)]
    assert finished == AnswerFinished("end_turn", None, {"input_tokens": 5, "output_tokens": 2})
    frames = [piece.data for piece in pieces if isinstance(piece, StreamFrame)]
    assert frames == [START, BLOCK, odd, TEXT, STOP, END, odd, LAST]


def test_citations_follow_those_that_a_block_began_with() -> None:
    start = BLOCK | {"content_block": {"type": "text", "text": "", "citations": [{"n": 1}]}}
    cite = {"type": "content_block_delta", "index": 0, "delta": {"type": "citations_delta", "citation": {"n": 2}}}
    pieces = assemble(START, start, TEXT, cite, STOP)
    [block] = [piece.block for piece in pieces if isinstance(piece, BlockFinished)]
    assert block == {"type": "text", "text": "llo", "citations": [{"n": 1}, {"n": 2}]}

"""Answers that arrive in pieces."""

from __future__ import annotations

from bridle.wire.transcript.items import (
    TextItem,
)
from tests.wire.fixtures.conversations import (
    add_line,
    assistant_line,
    stream_line,
    text,
    texts,
    transcript_of,
)


def test_a_live_text_grows_and_is_replaced() -> None:
    transcript = transcript_of(
        stream_line("message_start", message={"id": "m1"}),
        stream_line("content_block_start", index=0, content_block={"type": "text", "text": ""}),
        stream_line("content_block_delta", index=0, delta={"type": "text_delta", "text": "par"}),
        stream_line("content_block_delta", index=0, delta={"type": "text_delta", "text": "tial"}),
    )
    item = transcript.items()[0]
    assert isinstance(item, TextItem)
    assert (item.text, item.live) == ("partial", True)
    assert add_line(transcript, assistant_line(text("partial and whole"))) == (item.id,)
    assert texts(transcript) == ["partial and whole"]


def test_an_answer_that_was_cut_off_and_begun_again_is_shown_once() -> None:
    start = stream_line("content_block_start", index=0, content_block={"type": "text", "text": ""})
    piece = stream_line("content_block_delta", index=0, delta={"type": "text_delta", "text": "half"})
    begin = stream_line("message_start", message={"id": "m1"})
    transcript = transcript_of(begin, start, piece, begin, start, piece, assistant_line(text("half and half")))
    assert texts(transcript) == ["half and half"]


def test_an_unfinished_text_stays_when_the_process_ends() -> None:
    start = stream_line("content_block_start", index=0, content_block={"type": "text", "text": ""})
    piece = stream_line("content_block_delta", index=0, delta={"type": "text_delta", "text": "half"})
    transcript = transcript_of(start, piece)
    transcript.finish()
    assert texts(transcript) == ["half"]
    assert not any(isinstance(item, TextItem) and item.live for item in transcript.items())

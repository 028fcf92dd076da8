"""Answers that arrive in pieces."""

from __future__ import annotations

from typing import Any

from bridle.wire.transcript.items import FileChange, State, TextItem
from tests.wire.fixtures.conversations import (
    add_line,
    assistant_line,
    calls,
    states,
    stream_line,
    text,
    texts,
    transcript_of,
    use,
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


def streamed_call(name: str, text: str, index: int = 0) -> list[dict[str, Any]]:
    """The pieces of a call whose input has arrived so far."""
    block = {"type": "tool_use", "id": f"t{index}", "name": name, "input": {}}
    pieces = [text[start : start + 7] for start in range(0, len(text), 7)]
    return [
        stream_line("content_block_start", index=index, content_block=block),
        *(
            stream_line("content_block_delta", index=index, delta={"type": "input_json_delta", "partial_json": piece})
            for piece in pieces
        ),
    ]


def test_a_call_that_was_cut_off_shows_the_change_as_far_as_it_was_written() -> None:
    lines = streamed_call("Write", '{"file_path":"a.py","content":"one\\ntwo\\nthr')
    transcript = transcript_of(stream_line("message_start", message={"id": "m1"}), *lines)
    assert calls(transcript) == [], "its input is not known yet"
    transcript.finish()
    (call,) = calls(transcript)
    assert (call.name, call.summary, call.state) == ("Write", "a.py", State.INTERRUPTED)
    assert isinstance(call.detail, FileChange)
    assert call.detail.lines == ("+one", "+two", "+thr")


def test_a_call_that_was_printed_whole_or_begun_again_is_shown_once() -> None:
    begin = stream_line("message_start", message={"id": "m1"})
    lines = streamed_call("Bash", '{"command":"ls"}')
    transcript = transcript_of(begin, *lines, assistant_line(use("t0", "Bash", command="ls")))
    transcript.finish()
    assert states(transcript) == [("Bash", "interrupted")]
    transcript = transcript_of(begin, *lines, begin)
    transcript.finish()
    assert calls(transcript) == []

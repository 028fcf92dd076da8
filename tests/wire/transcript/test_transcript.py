"""The texts of a conversation."""

from __future__ import annotations

from bridle.wire.transcript.items import (
    Speaker,
    TextItem,
)
from bridle.wire.transcript.prose_and_code import Code, Prose
from bridle.wire.transcript.transcript import Transcript
from tests.wire.fixtures.conversations import (
    add_line,
    assistant_line,
    result_line,
    stream_line,
    text,
    texts,
    transcript_of,
    use,
    user_line,
)


def test_code_in_an_answer_is_separated_from_prose() -> None:
    transcript = transcript_of(assistant_line(text("See:\n```python\nx = 1\n```\nDone.")))
    message = transcript.items()[0]
    assert isinstance(message, TextItem)
    assert message.parts == (Prose("See:"), Code("x = 1", "python"), Prose("Done."))


def test_user_text_is_distinguished_from_program_text() -> None:
    transcript = transcript_of(
        user_line(text("mine"), isReplay=True),
        user_line(text("Stop hook feedback"), isSynthetic=True),
    )
    assert [item.speaker for item in transcript.items() if isinstance(item, TextItem)] == [
        Speaker.USER,
        Speaker.PROGRAM,
    ]


def test_text_that_follows_text_extends_it() -> None:
    transcript = transcript_of(assistant_line(text("one ")), assistant_line(text("sentence.")))
    assert texts(transcript) == ["one sentence."], "two blocks of one message"
    add_line(transcript, assistant_line(text("Another."), message="m2"))
    assert texts(transcript) == ["one sentence.\n\nAnother."], "a second message is a paragraph"
    assert [item.id for item in transcript.items()] == [1]


def test_text_after_anything_else_is_a_text_of_its_own() -> None:
    transcript = transcript_of(
        assistant_line(text("a"), use("c", "Bash", command="x"), text("b")),
        user_line(text("more?")),
        assistant_line(text("c")),
        assistant_line(text("inside"), parent="c"),
        assistant_line(text("d")),
        result_line("d"),
        assistant_line(text("e")),
    )
    assert texts(transcript) == ["a", "b", "more?", "cd", "e"]
    assert texts(transcript, "c") == ["inside"]


def test_a_text_that_arrives_in_pieces_extends_the_one_before() -> None:
    start = stream_line("content_block_start", index=1, content_block={"type": "text", "text": ""})
    piece = stream_line("content_block_delta", index=1, delta={"type": "text_delta", "text": "and"})
    transcript = transcript_of(assistant_line(text("one ")), start, piece)
    assert texts(transcript) == ["one ", "and"]
    add_line(transcript, assistant_line(text("and more")))
    assert texts(transcript) == ["one and more"]


def test_an_extended_text_is_cut_with_the_size_of_the_rest() -> None:
    transcript = Transcript(kept_characters=10)
    for _ in range(4):
        add_line(transcript, assistant_line(text("12345678")))
    (item,) = transcript.items()
    assert isinstance(item, TextItem)
    assert (item.text, item.omitted_characters) == ("1234567812", 22)

"""The texts of a conversation."""

from __future__ import annotations

from bridle.wire.transcript.items import (
    Speaker,
    TextItem,
)
from bridle.wire.transcript.prose_and_code import Code, Prose
from tests.wire.fixtures.conversations import (
    assistant_line,
    text,
    transcript_of,
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

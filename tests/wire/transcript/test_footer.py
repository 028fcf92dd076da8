"""The footer of a turn."""

from __future__ import annotations

from tests.wire.fixtures.conversations import (
    assistant_line,
    result_line,
    text,
    transcript_of,
)


def test_a_footer_repeats_no_shown_text() -> None:
    assert transcript_of(assistant_line(text("yes")), result_line("yes")).footers[0].text == ""
    assert (
        transcript_of(assistant_line(text("a")), assistant_line(text("b")), result_line("ab")).footers[0].text == ""
    ), "one answer in two blocks"
    assert transcript_of(assistant_line(text("yes")), result_line("no")).footers[0].text == "no"
    assert transcript_of(result_line("only here")).footers[0].text == "only here"
    seed = {"role": "assistant", "content": [{"type": "text", "text": "Done!"}]}
    assert transcript_of(assistant_line(text("Done!")), {**result_line(), "result": seed}).footers[0].text == ""

"""The footer of a turn: its errors, its refused calls and its figures, in whatever shape they were sent."""

from __future__ import annotations

from typing import Any

import pytest

from bridle.wire.events.events import Result, Usage
from bridle.wire.mask import Mask
from bridle.wire.transcript.clip import Clip
from bridle.wire.transcript.footer import footer_of
from bridle.wire.transcript.items import Denial, Footer, Tokens
from tests.wire.fixtures.conversations import assistant_line, result_line, text, transcript_of

CLIP = Clip(Mask())


def footer(**fields: Any) -> Footer:
    return footer_of(Result(**fields), CLIP, 1000)


@pytest.mark.parametrize(
    ("fields", "errors"),
    [
        ({"errors": ["one", {"message": "two"}, 5]}, ("one", "two")),
        ({"errors": "one text"}, ("one text",)),
        ({"content": "in the content"}, ("in the content",)),
        ({"content": [{"type": "text", "text": "in a block"}], "errors": ["listed"]}, ("listed", "in a block")),
        ({}, ()),
    ],
)
def test_the_words_of_an_error_are_shown_wherever_they_stand(fields: dict[str, Any], errors: tuple[str, ...]) -> None:
    assert footer(is_error=True, **fields).errors == errors


def test_a_turn_failed_if_it_says_so_or_its_subtype_is_an_error() -> None:
    assert footer(subtype="error_max_turns").failed
    assert footer(subtype="success", is_error=True).failed
    assert not footer(subtype="success", content="words").failed
    assert footer(subtype="success", content="words").errors == ()


@pytest.mark.parametrize(
    ("sent", "denials"),
    [
        ([{"tool_name": "Bash", "tool_use_id": "t"}], (Denial(tool="Bash", call_id="t"),)),
        ({"tool_name": "Bash"}, (Denial(tool="Bash", call_id=""),)),
        (["Bash", None], (Denial(tool="Bash", call_id=""), Denial(tool="?", call_id=""))),
        (None, ()),
    ],
)
def test_refused_calls_are_listed_in_every_shape(sent: Any, denials: tuple[Denial, ...]) -> None:
    assert footer(permission_denials=sent).denials == denials


def test_figures_that_cannot_be_true_are_left_out() -> None:
    shown = footer(duration_ms=1500, num_turns=3, total_cost_usd=float("nan"), usage=Usage(input_tokens=10**40))
    assert (shown.seconds, shown.turns, shown.cost_usd, shown.tokens) == (
        1.5,
        3,
        None,
        Tokens(input=0, output=0, cache_read=0, cache_written=0),
    )
    assert footer(origin={"kind": "task-notification"}).from_background
    assert not footer(origin="task-notification").from_background


def test_a_footer_repeats_no_shown_text() -> None:
    assert transcript_of(assistant_line(text("yes")), result_line("yes")).footers[0].text == ""
    assert (
        transcript_of(assistant_line(text("a")), assistant_line(text("b")), result_line("ab")).footers[0].text == ""
    ), "one answer in two blocks"
    assert transcript_of(assistant_line(text("yes")), result_line("no")).footers[0].text == "no"
    assert transcript_of(result_line("only here")).footers[0].text == "only here"
    seed = {"role": "assistant", "content": [{"type": "text", "text": "Done!"}]}
    assert transcript_of(assistant_line(text("Done!")), {**result_line(), "result": seed}).footers[0].text == ""

"""Foreign text on a page: labelled, shortened and counted."""

from __future__ import annotations

from bridle.views.terminal.page import LONG_LINE, DisplayOptions, Page, omitted_line
from bridle.wire.mask import Mask


def page(*, full: bool = False) -> Page:
    return Page(Mask(["hunter2hunter2"]), DisplayOptions(full=full))


def test_lines_after_the_first_are_aligned_below_it() -> None:
    lines = page().labelled("user", "one two three\nfour", 14, None, "user")
    assert [line.plain for line in lines] == ["user › one two", "       three", "       four"]


def test_one_line_more_than_the_limit_is_shown_instead_of_counted() -> None:
    shown, more = page().limit_lines(["a", "b", "c"], 2, 0)
    assert (shown, more) == (["a", "b", "c"], [])
    shown, more = page().limit_lines(["a", "b", "c", "d"], 2, 5)
    assert (shown, [line.plain for line in more]) == (["a", "b"], ["… 7 more lines"])
    assert page(full=True).limit_lines(["a", "b", "c", "d"], 2, 0) == (["a", "b", "c", "d"], [])


def test_a_secret_is_masked_before_a_line_is_cut() -> None:
    text = "x" * (LONG_LINE - 5) + "hunter2hunter2" + "y" * 20
    assert page().shorten(page().clean(text)).endswith("x***yy… 18 more characters")


def test_nothing_left_out_is_not_counted() -> None:
    assert [line.plain for line in omitted_line(1200)] == ["… 1,200 more characters in the log"]
    assert not list(omitted_line(0))

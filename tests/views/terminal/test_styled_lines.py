"""Text measured, cut and wrapped in terminal cells."""

from __future__ import annotations

import pytest

from bridle.views.terminal.styled_lines import Line, cell_width, split_cells, truncate, wrap_line, wrap_text


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("one two three", 7, ["one two", "three"]),
        ("  indented text wraps", 12, ["  indented", "  text wraps"]),
        ("averylongword", 5, ["avery", "longw", "ord"]),
        ("日本語です", 4, ["日本", "語で", "す"]),
        ("a\n\nb", 9, ["a", "", "b"]),
        ("", 9, [""]),
    ],
)
def test_a_text_is_wrapped_between_words_and_a_long_word_anywhere(text: str, width: int, lines: list[str]) -> None:
    assert list(wrap_text(text, width)) == lines
    assert max(map(cell_width, lines)) <= width


@pytest.mark.parametrize(
    ("text", "width", "cut"),
    [
        ("four", 4, "four"),
        ("fifth", 4, "fif…"),
        ("日本語", 5, "日本…"),
        ("日本語", 4, "日…"),
        ("ab", 1, "…"),
        ("abc", 2, "a…"),
        ("日本", 2, "…"),
        ("ab", 0, ""),
    ],
)
def test_a_cut_text_ends_with_an_ellipsis_within_its_width(text: str, width: int, cut: str) -> None:
    assert truncate(text, width) == cut


def test_pieces_are_the_whole_text() -> None:
    for text in ("plain text of some length", "語 mixed 日本 text"):
        assert "".join(split_cells(text, 5)) == text


def test_a_wrapped_line_keeps_the_styles_of_its_first_line() -> None:
    line = Line((("label ", "bold"), ("and a long text", "dim")))
    assert wrap_line(line, 12) == [
        Line((("label ", "bold"), ("and a", "dim"))),
        Line((("long text", "dim"),)),
    ]

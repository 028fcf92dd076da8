"""Each line knows its block, and headings, boxes and list items are found only outside of blocks."""

from __future__ import annotations

import pytest

from bridle.loop.plan.markdown_lines import Box, Heading, Line, Place, box, heading, list_item, read_lines
from bridle.loop.plan.problems import Problems

OPEN, FENCE, FENCED, COMMENT, APART = Place.OPEN, Place.FENCE, Place.FENCED, Place.COMMENT, Place.APART


def places(text: str) -> tuple[list[Place], list[int]]:
    """Return the place of each line, and the lines of the problems."""
    problems = Problems("P.md")
    lines = read_lines(text, problems)
    assert [line.number for line in lines] == list(range(1, len(lines) + 1))
    return [line.place for line in lines], [problem.line for problem in problems.errors]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\r\nb", [OPEN, OPEN]),
        ("```\na\n```\nb", [FENCE, FENCED, FENCE, OPEN]),
        ("````\n```\n````", [FENCE, FENCED, FENCE]),
        ("~~~\n```\n~~~", [FENCE, FENCED, FENCE]),
        ("- ```sh\n  a\n  ```\nb", [FENCE, FENCED, FENCE, OPEN]),
        ("```inline``` code", [OPEN]),
        ("<!-- a -->\nb", [COMMENT, OPEN]),
        ("<!-- a\n```\n-->\nb", [COMMENT, COMMENT, COMMENT, OPEN]),
        ("---\na: b\n---\nc", [APART, APART, APART, OPEN]),
        ("---\n## Task\n---", [OPEN, OPEN, OPEN]),
        ("---\na", [OPEN, OPEN]),
        ("a\n---\nb\n---", [OPEN, OPEN, OPEN, OPEN]),
    ],
)
def test_a_line_knows_the_block_that_it_belongs_to(text: str, expected: list[Place]) -> None:
    assert places(text) == (expected, [])


@pytest.mark.parametrize(("text", "line"), [("a\n```\nb", 2), ("```\n~~~", 1), ("a\nb\n<!-- c\nd", 3)])
def test_an_unclosed_block_is_a_problem_on_its_first_line(text: str, line: int) -> None:
    assert places(text)[1] == [line]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# Plan", Heading(1, "Plan")),
        ("##  A   b ##", Heading(2, "A b")),
        ("##Title", Heading(2, "Title")),
        ("## [x] Done", Heading(2, "Done", is_ticked=True)),
        ("## [ ] Open", Heading(2, "Open", is_ticked=False)),
        ("## C#", Heading(2, "C#")),
        ("##", Heading(2, "")),
        ("###### Six", Heading(6, "Six")),
        ("####### Seven", None),
        ("#tag", None),
        ("##!", None),
        ("    ## Code", None),
        ("text ## text", None),
    ],
)
def test_headings(text: str, expected: Heading | None) -> None:
    assert heading(Line(1, text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- [ ] a", Box("a", is_ticked=False)),
        ("* [x] a b ", Box("a b", is_ticked=True)),
        ("  1. [X] a", Box("a", is_ticked=True)),
        ("- [-] a", Box("a", is_ticked=False)),
        ("- [] a", Box("a", is_ticked=False)),
        ("- [ ]", None),
        ("- [a] link", None),
        ("[ ] a", None),
        ("-[ ] a", None),
    ],
)
def test_boxes(text: str, expected: Box | None) -> None:
    assert box(Line(1, text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("- a", "a"), ("+ a ", "a"), ("12) a", "a"), ("1234567890. a", None), ("-a", None), ("-", None)],
)
def test_list_items(text: str, expected: str | None) -> None:
    assert list_item(Line(1, text)) == expected


@pytest.mark.parametrize("place", [FENCE, FENCED, APART])
def test_nothing_is_found_inside_of_blocks(place: Place) -> None:
    assert heading(Line(1, "## A", place)) is None
    assert box(Line(1, "- [ ] a", place)) is None
    assert list_item(Line(1, "- a", place)) is None


def test_tabs_count_as_columns() -> None:
    assert [Line(1, text).indent for text in ("a", "  a", "\ta", " \ta", "\t\t")] == [0, 2, 4, 4, 8]

"""The block at the top of a Markdown document."""

from __future__ import annotations

import pytest

from bridle.ground.frontmatter import split_frontmatter


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("---\na: 1\n---\nbody\n", ("a: 1\n", "body\n")),
        ("--- \t\r\na: 1\r\n---\r\nbody", ("a: 1\r\n", "body")),
        ("---\n---\n", ("", "")),
        ("---\na\n---", ("a\n", "")),
        ("---\na\n----\n---\nb\n---\nc", ("a\n----\n", "b\n---\nc")),
        ("---\n ---\n---\n", (" ---\n", "")),
        ("---", None),
        ("---\n", None),
        ("---\na: 1\n", None),
        ("\n---\na\n---\n", None),
        ("--- a\nb\n---\n", None),
        ("", None),
    ],
)
def test_a_block_is_between_two_fences_at_the_top(text: str, parts: tuple[str, str] | None) -> None:
    assert split_frontmatter(text) == parts

"""Characters that look like others are read as these, and named."""

from __future__ import annotations

import pytest

from bridle.loop.text.lookalikes import describe, find_invisible, simplify


@pytest.mark.parametrize(
    ("text", "simple", "odd"),
    [
        ("Check: x", "Check: x", None),
        ("Check&colon; x", "Check: x", None),
        ("Сheck: x", "Check: x", "U+0421 (CYRILLIC CAPITAL LETTER ES)"),
        ("Check： x", "Check: x", "U+FF1A (FULLWIDTH COLON)"),
        ("Ch\u200beck: x", "Check: x", "U+200B (ZERO WIDTH SPACE)"),
        ("May\u00a0edit: x", "May edit: x", "U+00A0 (NO-BREAK SPACE)"),
        ("𝐂heck: é", "Check: e", "U+1D402 (MATHEMATICAL BOLD CAPITAL C)"),
        ("检查", "检查", None),
    ],
)
def test_a_text_becomes_plain(text: str, simple: str, odd: str | None) -> None:
    assert simplify(text) == (simple, odd)


def test_invisible_characters_and_other_spaces_are_found() -> None:
    assert find_invisible("make test") is None
    assert find_invisible("é 检查") is None
    assert find_invisible("a\u2060b") == "U+2060 (WORD JOINER)"
    assert describe("\ue000") == "U+E000 (without a name)"

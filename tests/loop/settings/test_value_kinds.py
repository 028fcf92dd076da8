"""Each kind of value accepts what it describes, refuses everything else with what was given, and formats its values."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from bridle.loop.settings.value_kinds import (
    DURATION,
    FLAG,
    MONEY,
    PATTERNS,
    TEXT,
    TEXTS,
    Kind,
    choice,
    count,
    names,
)

COLOUR = choice("red", "green")
COUNT = count(1)
NAMES = names(("claude", "codex"))


@pytest.mark.parametrize(
    ("kind", "given", "value"),
    [
        (COLOUR, "red", "red"),
        (COUNT, 1, 1),
        (COUNT, 1_000_000, 1_000_000),
        (NAMES, "codex, claude,codex", ("codex", "claude")),
        (NAMES, ["claude"], ("claude",)),
        (FLAG, False, False),
        (TEXT, "  a\tb ", "a\tb"),
        (TEXTS, "a", ("a",)),
        (TEXTS, ["a", " b "], ("a", "b")),
        (TEXTS, [], ()),
        (PATTERNS, ["./docs/**", "a"], ("docs/**", "a")),
        (MONEY, 1, 1.0),
        (MONEY, 0.5, 0.5),
        (DURATION, 90, 90.0),
        (DURATION, "15m", 900.0),
    ],
)
def test_a_value_is_read_and_its_format_reads_back(kind: Kind, given: object, value: Any) -> None:
    assert kind.read(given) == value
    assert kind.read(tomllib.loads(f"key = {kind.show(value)}")["key"]) == value


@pytest.mark.parametrize(
    ("kind", "given", "message"),
    [
        (COLOUR, "gren", "got 'gren'; did you mean green?"),
        (COLOUR, 1, "got 1"),
        (COUNT, 0, "got 0"),
        (COUNT, True, "got true"),
        (COUNT, 1.0, "got 1.0"),
        (COUNT, "1", "got '1'"),
        (COUNT, 1_000_001, "got 1000001 (the largest value is 1000000)"),
        (NAMES, " , ", "got no name"),
        (NAMES, [1], "got a list"),
        (NAMES, "cladue", "got 'cladue'; did you mean claude?"),
        (FLAG, 1, "got 1"),
        (FLAG, "true", "got 'true'"),
        (TEXT, " ", "got an empty text"),
        (TEXT, ["a"], "got a list"),
        (TEXT, "a\x1b[31m", "got the control character '\\x1b' in it"),
        (TEXT, "a\u202eb", "got the control character '\\u202e' in it"),
        (TEXTS, {"a": 1}, "got a table"),
        (TEXTS, ["a", ""], "got an empty text"),
        (PATTERNS, "../x", "got '../x', which leaves the repository"),
        (MONEY, 0, "got 0"),
        (MONEY, -1, "got -1"),
        (MONEY, float("nan"), "got nan"),
        (MONEY, float("inf"), "got inf (the largest value is 1000000)"),
        (MONEY, True, "got true"),
        (DURATION, True, "got true"),
        (TEXT, 10**70, "got " + "1" + "0" * 59 + "…"),
    ],
)
def test_a_wrong_value_is_refused_with_what_was_given(kind: Kind, given: object, message: str) -> None:
    with pytest.raises(ValueError, match="got") as refused:
        kind.read(given)
    assert str(refused.value) == message


@pytest.mark.parametrize("given", [0, -5, "5x", float("nan"), None, "1e999h"])
def test_a_wrong_duration_is_refused(given: object) -> None:
    with pytest.raises(ValueError, match=r"."):
        DURATION.read(given)

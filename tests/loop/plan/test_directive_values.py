"""The value of a directive becomes commands, titles or patterns; an invalid one is refused with its reason."""

from __future__ import annotations

import pytest

from bridle.loop.plan.directive_values import VALUE_LIMIT_CHARACTERS, commands, patterns, titles


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("make test", ["make test"]),
        ("`make test`", ["make test"]),
        ("`a`, `b` and `c`.", ["a", "b", "c"]),
        ("``echo `date` ``", ["echo `date`"]),
        ("$ make test", ["make test"]),
        ("$HOME/check", ["$HOME/check"]),
        ('"make test"', ["make test"]),
        ("'make'", ["'make'"]),
        ("'a b' 'c d'", ["'a b' 'c d'"]),
        ('"a \\"b\\" c"', ['"a \\"b\\" c"']),
    ],
)
def test_a_command_is_taken_without_its_markup(value: str, expected: list[str]) -> None:
    assert commands(value) == expected


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("", "the command is empty"),
        ("``", "the command is empty"),
        ("` `", "the command is empty"),
        ("run `make`", "text and backticks are mixed"),
        ("`make", "text and backticks are mixed"),
        ("echo `date`", "text and backticks are mixed"),
        ("“make test”", "in typographic quotes, which a shell does not know. Write: `make test`"),
        ("‘make test’", "in typographic quotes"),
        ("`rm \u202ex`", "bidirectional control characters"),
        ("x" * (VALUE_LIMIT_CHARACTERS + 1), "must be at most"),
    ],
)
def test_a_command_that_could_run_as_something_else_is_refused(value: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        commands(value)


def test_the_longest_value_is_accepted() -> None:
    assert commands("x" * VALUE_LIMIT_CHARACTERS) == ["x" * VALUE_LIMIT_CHARACTERS]


def test_links_in_titles_become_their_text() -> None:
    assert titles("[Token bucket](#token-bucket), Wire it (in) [x]") == "Token bucket, Wire it (in) [x]"
    with pytest.raises(ValueError, match="must be at most"):
        titles("x" * (VALUE_LIMIT_CHARACTERS + 1))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a.py, b.py", ["a.py", "b.py"]),
        ("`tests/*.py`,  ./docs", ["tests/*.py", "docs"]),
        ("src/{a,b}.py, c.py", ["src/{a,b}.py", "c.py"]),
        ("a},b", ["a}", "b"]),
        (" , ,", []),
    ],
)
def test_patterns_are_separated_by_commas_outside_braces(value: str, expected: list[str]) -> None:
    assert patterns(value) == expected


def test_every_pattern_outside_the_repository_is_reported() -> None:
    with pytest.raises(ValueError, match="outside the repository") as refused:
        patterns("ok.py, /etc/passwd, ../x, ~/y")
    assert all(path in str(refused.value) for path in ("/etc/passwd", "../x", "~/y"))
    assert "ok.py" not in str(refused.value)

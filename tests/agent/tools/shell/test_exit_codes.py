from __future__ import annotations

import pytest

from bridle.agent.tools.shell.exit_codes import first_name, is_silent, meaning


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ("grep x file", 1, "No matches found"),
        ("ls | grep x", 1, "No matches found"),
        ("cat a && rg x", 1, "No matches found"),
        ("diff a b 2>&1", 1, "Files differ"),
        ("[ -f x ]", 1, "Condition is false"),
        ("test -f x", 1, "Condition is false"),
        ("find / -name x", 1, "Some directories were inaccessible"),
        ("grep x file", 2, None),
        ("grep x file", 0, None),
        ("grep x file; false", 1, None),
        ("grep x file | head", 1, None),
        ("FOO=1 grep x file", 1, None),
        ("echo 'a; grep x'", 1, None),
        ('echo "a && grep x"', 1, None),
        ("make", 1, None),
        ("", 1, None),
        (";;", 1, None),
        ("'unclosed; grep", 1, None),
    ],
)
def test_an_exit_code_is_an_answer_only_of_the_commands_that_use_it_so(
    command: str, code: int, said: str | None
) -> None:
    assert meaning(command, code) == said


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cd src", True),
        ("mkdir y && touch y/z", True),
        ("rm a; rm b\nmv c d", True),
        ("cp a b &>log", True),
        ("true", False),
        ("mkdir q; echo hi > q/r", False),
        ("false || mkdir zz || true", False),
        ("", False),
        ("cdx", False),
    ],
)
def test_silent_commands_are_known(command: str, expected: bool) -> None:
    assert is_silent(command) is expected


@pytest.mark.parametrize(
    ("command", "name"), [("  sleep 5", "sleep"), ("echo a; sleep 5", "echo"), ("\n\nsleep 1", "sleep"), ("", "")]
)
def test_the_first_command_is_found(command: str, name: str) -> None:
    assert first_name(command) == name


def test_a_long_line_of_anything_is_taken_apart_in_one_go() -> None:
    for letter in ("'", '"', "\\", "&", "|", "<", "(", "a", "\n"):
        assert meaning(letter * 100_000, 1) is None

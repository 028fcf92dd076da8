"""Words are split into options and names by the table; an unknown option makes the command unknown."""

from __future__ import annotations

import pytest

from bridle.agent.permissions.bash.command_options import known_options, parse
from bridle.agent.permissions.bash.words import Word, read_word

UNKNOWN = Word("$X", None)
TABLE = "-a -n: -f@ -C? --all --lines= --file@ --color? -#"


def words(text: str) -> list[Word]:
    return [UNKNOWN if part == "$X" else read_word(part, "") for part in text.split()]


@pytest.mark.parametrize(
    ("command", "names", "paths", "options"),
    [
        ("a b", ["a", "b"], [], set()),
        ("-a x", ["x"], [], {"-a"}),
        ("-an 5 x", ["x"], [], {"-a", "-n"}),
        ("-n5 x", ["x"], [], {"-n"}),
        ("-f p x", ["x"], ["p"], {"-f"}),
        ("-afp x", ["x"], ["p"], {"-a", "-f"}),
        ("-C3a x", ["x"], [], {"-C"}),
        ("--all --lines=3 --color=auto --color x", ["x"], [], {"--all", "--lines", "--color"}),
        ("--lines 3 --file p --file=q", [], ["p", "q"], {"--lines", "--file"}),
        ("-12 x", ["x"], [], set()),
        ("x -- -a --what", ["x", "-a", "--what"], [], set()),
        ("- x", ["-", "x"], [], set()),
        ("a* x", ["a*", "x"], [], set()),
    ],
)
def test_known_options_are_taken_with_their_values(
    command: str, names: list[str], paths: list[str], options: set[str]
) -> None:
    arguments = parse(words(command), known_options(TABLE))
    assert arguments is not None
    assert [word.value for word in arguments.names] == names
    assert [word.value for word in arguments.paths] == paths
    assert arguments.options == options


@pytest.mark.parametrize(
    "command",
    ["-x", "-ax", "--al", "--all=1", "--lines", "-n", "-n $X", "-f a*", "$X", "-* a", "--what=1", "-1x", "--file $X"],
)
def test_anything_unknown_makes_the_command_unknown(command: str) -> None:
    assert parse(words(command), known_options(TABLE)) is None


def test_a_program_that_takes_everything_has_no_options() -> None:
    arguments = parse(words("-x $X -- a"), known_options("*"))
    assert arguments is not None
    assert [word.text for word in arguments.names] == ["-x", "$X", "--", "a"]

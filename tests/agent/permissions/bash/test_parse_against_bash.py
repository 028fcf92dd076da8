"""The reading of a command against bash itself: what really ran is among what was reported."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from bridle.agent.permissions.bash.command_lines import command_lines
from bridle.agent.permissions.bash.parse import read_script
from bridle.agent.permissions.bash.words import Word
from bridle.agent.permissions.bash.wrappers import basename
from bridle.agent.permissions.decide import decide
from bridle.agent.permissions.rules.policy import Allowed, Policy
from bridle.agent.permissions.rules.syntax import Rule
from tests.agent.permissions.fixtures.hostile_commands import COMMANDS as ROWS
from tests.agent.permissions.fixtures.random_shell import COMMANDS
from tests.agent.permissions.fixtures.recording_programs import Yard, make_yard
from tests.sizes import SIZES

READERS = frozenset(
    {"cut", "date", "diff", "find", "git", "grep", "head", "id", "jq", "ls", "md5sum", "ps", "realpath", "rg"}
    | {"sed", "seq", "sleep", "sort", "stat", "tail", "tr", "tree", "uniq", "wc", "which", "whoami"}
)
GIT = Rule("Bash", "git *")
# Each example starts real programs.
EXAMPLES = SIZES.hypothesis_examples
KEEP = frozenset({"notes.txt", "src", ".git"})


@pytest.fixture(scope="module")
def yard(tmp_path_factory: pytest.TempPathFactory) -> Yard:
    return make_yard(tmp_path_factory.mktemp("yard"))


@pytest.fixture(scope="module")
def tidy_yard(tmp_path_factory: pytest.TempPathFactory) -> Yard:
    """One in which nothing may be changed."""
    return make_yard(tmp_path_factory.mktemp("tidy"))


def reported(ran: tuple[str, ...], lines: list[tuple[Word, ...]]) -> bool:
    return any(_could_be(ran, line) for line in lines)


def _could_be(ran: tuple[str, ...], line: tuple[Word, ...]) -> bool:
    """Whether a program that ran is this command line; arguments behind a known line may come from a wrapper."""
    if line[0].value is None:
        return True
    if basename(line[0].value) != ran[0]:
        return False
    known: list[str] = []
    for word in line[1:]:
        if not word.is_plain:
            return ran[1 : len(known) + 1] == tuple(known)
        known.append(word.value or "")
    return ran[1 : len(known) + 1] == tuple(known)


def runnable(command: str) -> bool:
    """No loop without an end: a stand-in always succeeds."""
    return "\0" not in command and not command.startswith(("while", "until"))


@pytest.mark.parametrize("command", [row.command for row in ROWS if runnable(row.command)], ids=lambda text: text[:40])
def test_what_a_hostile_command_runs_was_reported(command: str, yard: Yard) -> None:
    script = read_script(command, str(yard.home))
    lines = list(command_lines(script, command, str(yard.home)))
    missing = [ran for ran in yard.run(command).programs if not reported(ran, lines)]
    assert missing == []


def test_the_yard_sees_what_runs(yard: Yard) -> None:
    ran = yard.run("git log $(evil a) | xargs rm; sh -c 'touch \"b c\"'").programs
    assert sorted(ran) == [("evil", "a"), ("git", "log"), ("rm",), ("touch", "b c")]


@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(command=COMMANDS)
def test_a_command_that_is_allowed_runs_and_changes_nothing_else(command: str, tidy_yard: Yard) -> None:
    policy = Policy(cwd=str(tidy_yard.work), home=str(tidy_yard.home), allow=(GIT,))
    if isinstance(decide("Bash", {"command": command}, policy), Allowed):
        ran = tidy_yard.run(command)
        assert {program[0] for program in ran.programs} <= READERS
        assert {path.name for path in tidy_yard.work.iterdir()} == KEEP


@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(command=COMMANDS)
def test_a_program_that_is_forbidden_does_not_run_although_everything_else_is_allowed(command: str, yard: Yard) -> None:
    forbidden = (Rule("Bash", "evil *"), Rule("Bash", "rm *"))
    policy = Policy(cwd=str(yard.work), home=str(yard.home), allow=(Rule("Bash", None),), deny=forbidden)
    if isinstance(decide("Bash", {"command": command}, policy), Allowed):
        ran = yard.run(command)
        _tidy(yard.work)
        assert not {program[0] for program in ran.programs} & {"evil", "rm"}


def _tidy(folder: Path) -> None:
    for path in folder.iterdir():
        if path.name not in KEEP:
            path.unlink()

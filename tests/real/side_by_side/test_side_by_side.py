"""The real Claude Code and `bridle-agent` in the same scenarios: all that differs is listed in docs."""

from __future__ import annotations

from pathlib import Path

import pytest

from bridle.agent.command_line.flags import FLAGS, Handling
from tests.fixtures.bridle_program import BRIDLE_AGENT as AGENT
from tests.real.fixtures.installed_programs import claude_program
from tests.real.side_by_side.catalogue import scenarios
from tests.real.side_by_side.compare import differences, shape
from tests.real.side_by_side.listed import Listed, listed, unlisted, vanished
from tests.real.side_by_side.play import play

SCENARIOS = scenarios()
# One of each sort: tools one after the other, tools at once, several turns, several starts.
WITH_ITSELF = ("editing files", "tools side by side", "two turns", "a session is copied")


@pytest.mark.real
@pytest.mark.parametrize("name", SCENARIOS)
def test_the_agent_does_what_the_real_one_does(name: str, tmp_path: Path) -> None:
    scenario, rows = SCENARIOS[name], listed()
    real = shape(scenario, play(claude_program(), scenario, tmp_path / "real"))
    ours = shape(scenario, play(AGENT, scenario, tmp_path / "ours"))
    found = differences(real, ours)
    new, gone = unlisted(found, rows, name), vanished(found, rows, name)
    assert not new, "not in docs/agent-differences.md:\n" + "\n".join(map(str, new))
    assert not gone, "in docs/agent-differences.md, but so no longer:\n" + "\n".join(map(str, gone))


@pytest.mark.real
@pytest.mark.parametrize("name", WITH_ITSELF)
def test_the_real_one_does_not_differ_from_itself(name: str, tmp_path: Path) -> None:
    scenario = SCENARIOS[name]
    once, again = (play(claude_program(), scenario, tmp_path / folder) for folder in ("real", "ours"))
    assert differences(shape(scenario, once), shape(scenario, again)) == []


def test_every_listed_difference_names_a_scenario() -> None:
    assert [row for row in listed() if row.witness not in SCENARIOS] == []


def test_a_difference_that_shows_at_times_need_not_show() -> None:
    always, at_times = (Listed("a scenario", False, "file", "*", "*", at_times) for at_times in (False, True))
    assert vanished([], [always, at_times], "a scenario") == [always]


def test_there_are_as_many_scenarios_as_promised() -> None:
    assert len(SCENARIOS) >= 300


# The tests with the official SDKs compare what a store of sessions receives; the help and the debug log are words of
# each program; a safe start is not compared yet.
WITHOUT_SCENARIO = {"--session-mirror", "--help", "--debug", "--safe-mode"}


def test_every_flag_is_in_a_scenario() -> None:
    words = {
        word.partition("=")[0]
        for scenario in SCENARIOS.values()
        for start in scenario.starts
        for word in start.arguments
        if word.startswith("-")
    }
    used = [flag for flag in FLAGS if flag.handling is Handling.USED]
    assert {flag.names[-1] for flag in used if not words.intersection(flag.names)} == WITHOUT_SCENARIO

"""Finding the agent's program."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from bridle.errors import AgentNotFound, AgentNotReady
from bridle.run.locate import Program, find_program
from tests.run.fixtures.agent_runs import run_agent
from tests.run.fixtures.fake_agent import Agent, successful_turn


def program(path: Path, *, executable: bool = True) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755 if executable else 0o644)
    return path


def test_the_variable_wins_over_path(tmp_path: Path) -> None:
    named, other = program(tmp_path / "a/mine"), program(tmp_path / "b/claude")
    environment = {"BRIDLE_CLAUDE": str(named), "PATH": str(other.parent)}
    assert find_program("claude", environment) == Program(str(named), "BRIDLE_CLAUDE")
    assert find_program("claude", environment | {"BRIDLE_CLAUDE": ""}) == Program(str(other), "PATH")


def test_the_variable_may_name_a_program_on_path(tmp_path: Path) -> None:
    named = program(tmp_path / "mine")
    assert find_program("codex", {"BRIDLE_CODEX": "mine", "PATH": str(tmp_path)}) == Program(str(named), "BRIDLE_CODEX")


def test_a_dash_in_an_agents_name_is_an_underscore_in_its_variable(tmp_path: Path) -> None:
    named = program(tmp_path / "mine")
    assert find_program("bridle-agent", {"BRIDLE_BRIDLE_AGENT": str(named)}).path == str(named)


def test_a_relative_folder_on_path_gives_an_absolute_program(tmp_path: Path) -> None:
    program(tmp_path / "claude")
    relative = os.path.relpath(tmp_path)
    assert find_program("claude", {"PATH": relative}).path == str(tmp_path / "claude")


@pytest.mark.parametrize("place", [".claude/local", ".local/bin", ".npm-global/bin", ".bun/bin", "node_modules/.bin"])
def test_the_known_places_in_the_home_folder_come_last(tmp_path: Path, place: str) -> None:
    found = program(tmp_path / place / "claude")
    assert find_program("claude", {"HOME": str(tmp_path), "PATH": ""}) == Program(str(found), str(found.parent))


def test_our_own_agent_is_found_beside_this_bridle_where_its_environment_is_not_on_path(tmp_path: Path) -> None:
    beside = Path(sys.executable).parent
    assert find_program("bridle-agent", {"HOME": str(tmp_path), "PATH": ""}) == Program(
        str(beside / "bridle-agent"), str(beside)
    )


def test_a_known_place_that_holds_no_program_is_passed_over(tmp_path: Path) -> None:
    program(tmp_path / ".claude/local/codex", executable=False)
    (tmp_path / ".local/bin/codex").mkdir(parents=True)
    with pytest.raises(AgentNotFound):
        find_program("codex", {"HOME": str(tmp_path), "PATH": ""})


@pytest.mark.parametrize("agent", ["claude", "codex", "gemini", "opencode"])
def test_a_missing_agent_is_reported_with_the_remedy(tmp_path: Path, agent: str) -> None:
    with pytest.raises(AgentNotFound, match=f"(?i)^{agent} CLI not found: it is not on PATH") as refused:
        find_program(agent, {"HOME": str(tmp_path), "PATH": ""})
    assert "npm install -g" in str(refused.value)
    assert f"BRIDLE_{agent.upper()}" in str(refused.value)


def test_a_named_program_that_is_missing_or_not_executable_is_distinguished(tmp_path: Path) -> None:
    plain = program(tmp_path / "plain", executable=False)
    with pytest.raises(AgentNotReady, match=r"plain \(from BRIDLE_CLAUDE\) is not executable"):
        find_program("claude", {"BRIDLE_CLAUDE": str(plain)})
    for missing in ("gone", "too-long-for-a-name" * 20 + "gone"):
        with pytest.raises(AgentNotFound, match=r"^Claude CLI not found: .*gone \(from BRIDLE_CLAUDE\)"):
            find_program("claude", {"BRIDLE_CLAUDE": str(tmp_path / missing)})


def test_a_run_with_a_missing_program_starts_nothing_and_names_it(tmp_path: Path) -> None:
    gone = Agent(tmp_path / "gone")
    finished = run_agent(gone, tmp_path).finished
    assert (finished.outcome.category, finished.outcome.exit_code) == (None, -1)
    assert finished.outcome.error is not None
    assert str(gone.path) in finished.outcome.error
    assert isinstance(finished.unusable, AgentNotFound)
    assert (finished.attempts, finished.log_path) == (0, None)


def test_a_program_whose_interpreter_is_missing_cannot_be_used(tmp_path: Path) -> None:
    agent = successful_turn().install(tmp_path / "bin")
    agent.path.write_text("#!/nonexistent/python\n")
    finished = run_agent(agent, tmp_path).finished
    assert isinstance(finished.unusable, AgentNotReady)
    assert (finished.outcome.category, finished.outcome.exit_code) == (None, -1)
    assert (finished.attempts, finished.log_path is not None) == (1, True)

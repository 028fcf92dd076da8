"""The repository's environment through direnv, played by a small program of that name on PATH."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from tests.run.fixtures.agent_runs import Run, run_agent
from tests.run.fixtures.fake_agent import successful_turn

CONTINUES = ". The run continues without the variables of .envrc."


def direnv(folder: Path, code: str) -> str:
    """Install a direnv that runs this code, and return a PATH with it in front."""
    folder.mkdir()
    program = folder / "direnv"
    program.write_text(
        f"#!{sys.executable} -IS\nimport json, os, sys\nassert sys.argv[1:] == ['export', 'json']\n{code}"
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def run_with(tmp_path: Path, code: str, **variables: str) -> tuple[dict[str, str], Run]:
    work = tmp_path / "work/below"
    work.mkdir(parents=True)
    (tmp_path / "work/.envrc").touch()
    agent = successful_turn().install(tmp_path / "bin")
    path = direnv(tmp_path / "direnv", code)
    done = run_agent(agent, work, environment=agent.environment(PATH=path, **variables))
    return agent.starts[0]["environment"], done


def test_what_direnv_sets_and_unsets_reaches_the_agent(tmp_path: Path) -> None:
    code = "print(json.dumps({'NEW': os.getcwd(), 'GONE': None}))"
    environment, done = run_with(tmp_path, code, GONE="1", LC_KEPT="1")
    assert environment["NEW"] == str(tmp_path / "work/below")
    assert environment["LC_KEPT"] == "1"
    assert "GONE" not in environment
    assert not any("direnv" in words for words in done.messages[1:])


def test_an_empty_answer_changes_nothing(tmp_path: Path) -> None:
    environment, done = run_with(tmp_path, "", LC_KEPT="1")
    assert environment["LC_KEPT"] == "1"
    assert not any(CONTINUES in words for words in done.messages)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (
            "sys.exit('direnv: error .envrc is blocked. Run `direnv allow`')",
            "direnv: error .envrc is blocked. Run `direnv allow`",
        ),
        ("sys.exit(3)", "it failed"),
        ("print('not json')", "its output is not JSON"),
        ("print('[' * 100000)", "its output is not JSON"),
        ("print('[1]')", "its output is not an object of variables"),
        ("print(json.dumps({'A': 7}))", "its output is not an object of variables"),
        ("print(json.dumps({'A=B': 'x'}))", "its output is not an object of variables"),
        ("print(json.dumps({'A': 'x\\0'}))", "its output is not an object of variables"),
    ],
)
def test_an_answer_that_cannot_be_used_is_reported_and_the_run_goes_on(tmp_path: Path, code: str, words: str) -> None:
    environment, done = run_with(tmp_path, code)
    assert f"direnv: {words}{CONTINUES}" in done.messages
    assert "A" not in environment
    assert done.finished.outcome.succeeded_cleanly


def test_a_direnv_that_cannot_be_started_is_reported(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / ".envrc").touch()
    path = direnv(tmp_path / "direnv", "")
    (tmp_path / "direnv/direnv").write_text("#!/nonexistent\n")
    agent = successful_turn().install(tmp_path / "bin")
    done = run_agent(agent, work, environment=agent.environment(PATH=path))
    assert any(words.startswith("direnv: ") and words.endswith(CONTINUES) for words in done.messages)
    assert done.finished.outcome.succeeded_cleanly


def test_a_folder_without_an_envrc_does_not_start_direnv(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    path = direnv(tmp_path / "direnv", "print(json.dumps({'NEW': '1'}))")
    agent = successful_turn().install(tmp_path / "bin")
    run_agent(agent, work, environment=agent.environment(PATH=path))
    assert "NEW" not in agent.starts[0]["environment"]


def test_an_envrc_decides_which_agent_is_found(tmp_path: Path) -> None:
    agent = successful_turn().install(tmp_path / "own")
    work = tmp_path / "work"
    work.mkdir()
    (work / ".envrc").touch()
    path = direnv(tmp_path / "direnv", f"print(json.dumps({{'BRIDLE_CLAUDE': {str(agent.path)!r}}}))")
    done = run_agent(agent, work, environment={**os.environ, "PATH": path})
    assert done.finished.program == str(agent.path)

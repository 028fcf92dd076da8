"""The sessions of a workspace, and its state files: exact fields, whole files, and damage that is named."""

from __future__ import annotations

import asyncio
import json
import stat
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bridle.errors import DiskError
from bridle.run import sessions
from bridle.run.request import Mode, Request
from bridle.run.runner import run
from bridle.wire.record.error_category import Category
from tests.run.fixtures.agent_runs import run_agent
from tests.run.fixtures.fake_agent import SESSION, Script, init, result, successful_turn

MOMENT = datetime(2026, 11, 15, 2, 46, 55, 123_000, tzinfo=UTC)

STATE = ".ralph/state"


def state(cwd: Path, name: str) -> Any:
    return json.loads((cwd / STATE / name).read_bytes())


def write(cwd: Path, name: str, text: str) -> Path:
    (cwd / STATE).mkdir(parents=True)
    path = cwd / STATE / name
    path.write_text(text)
    return path


def test_the_session_file_has_exactly_the_fields_of_its_format(tmp_path: Path) -> None:
    sessions.remember(tmp_path, Mode.PLANNER, "p-1", MOMENT)
    sessions.remember(tmp_path, Mode.CODER, "c-1", MOMENT)
    sessions.remember(tmp_path, Mode.SUMMARIZER, "s-1", MOMENT)
    assert state(tmp_path, "claude-session.json") == {
        "planner_session_id": "p-1",
        "coder_session_id": "c-1",
        "updated_at": "2026-11-15T02:46:55.123Z",
    }
    known = sessions.read(tmp_path)
    assert [known.of(mode) for mode in Mode] == ["p-1", "c-1", "s-1"]


def test_a_run_remembers_its_session_by_mode_and_its_cost(tmp_path: Path) -> None:
    agent = successful_turn().install(tmp_path / "bin")
    run_agent(agent, tmp_path, mode=Mode.PLANNER)
    run_agent(agent, tmp_path, mode=Mode.SUMMARIZER)
    known = state(tmp_path, "claude-session.json")
    assert (known["planner_session_id"], known["coder_session_id"]) == (SESSION, None)
    assert state(tmp_path, "budget.json")["total_cost_usd"] == 0.5


def test_state_is_private_and_replaced_as_a_whole(tmp_path: Path) -> None:
    run_agent(successful_turn().install(tmp_path / "bin"), tmp_path)
    folder = tmp_path / STATE
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {path.name for path in folder.iterdir()} == {
        "claude-session.json",
        "budget.json",
        "budget.lock",
        "workspace.lock",
    }
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    before = (folder / "budget.json").stat().st_ino
    run_agent(successful_turn().install(tmp_path / "bin"), tmp_path)
    assert (folder / "budget.json").stat().st_ino != before


@pytest.mark.parametrize("name", ["budget.json", "claude-session.json"])
@pytest.mark.parametrize("text", ["", '{"total_cost_usd": 1', "[]", "17", '"x"', "\x00\x01"])
def test_a_state_file_that_cannot_be_read_is_named_and_nothing_is_started(tmp_path: Path, name: str, text: str) -> None:
    path = write(tmp_path, name, text)
    agent = successful_turn().install(tmp_path / "bin")
    with pytest.raises(DiskError) as refused:
        run_agent(agent, tmp_path)
    assert str(path) in refused.value.message
    assert refused.value.remedy
    assert not agent.starts
    assert path.read_text() == text


@pytest.mark.parametrize("text", ["", "[]", '{"coder_session_id": 7}'])
def test_a_session_file_that_an_agent_damaged_is_written_anew(tmp_path: Path, text: str) -> None:
    write(tmp_path, "claude-session.json", text)
    sessions.remember(tmp_path, Mode.CODER, SESSION, datetime(2026, 1, 1, tzinfo=UTC))
    assert sessions.read(tmp_path) == sessions.Sessions(coder=SESSION)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("budget.json", {"total_cost_usd": "much"}),
        ("budget.json", {"max_cost_usd": True}),
        ("budget.json", {"total_cost_usd": float("nan")}),
        ("budget.json", {"max_iterations": float("inf")}),
        ("claude-session.json", {"coder_session_id": 7}),
    ],
)
def test_a_state_file_with_a_wrong_value_is_named(tmp_path: Path, name: str, value: object) -> None:
    path = write(tmp_path, name, json.dumps(value))
    with pytest.raises(DiskError, match=str(path)):
        run_agent(successful_turn().install(tmp_path / "bin"), tmp_path)


def test_state_that_cannot_be_written_is_a_fault_of_the_run_and_not_a_lost_answer(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    agent = Script().out(init()).until(gate).out(result("the answer")).install(tmp_path / "bin")

    def spoil(_event: object) -> None:
        budget_file = tmp_path / STATE / "budget.json"
        if not budget_file.exists():
            budget_file.mkdir(parents=True)  # a folder cannot be replaced by a file
        gate.touch()

    finished = asyncio.run(run(Request("hi", tmp_path), environment=agent.environment(), on_event=spoil))
    assert (finished.outcome.failed, finished.outcome.category) == (True, Category.PROCESS)
    assert "budget.json" in (finished.outcome.error or "")
    assert finished.outcome.final_text == "the answer"

"""Sessions and budget of a workspace: exact fields, whole files, and what stops the next run."""

from __future__ import annotations

import asyncio
import json
import stat
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bridle.errors import DiskError
from bridle.run import budget, sessions
from bridle.run.budget import Budget, Cost, budget_file, cost_of
from bridle.run.logs import FOLDER
from bridle.run.recover import lock_note, recover
from bridle.run.request import Mode, Request
from bridle.run.runner import run
from bridle.wire.record.error_category import Category
from bridle.wire.record.record import Record, Tally
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
    assert [known.of(mode) for mode in Mode] == ["p-1", "c-1", None]


def test_the_budget_file_has_exactly_the_fields_of_its_format(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "budget.json",
        '{"total_cost_usd": 1.5, "max_cost_usd": 10.0, "iterations": 17, "max_iterations": 50}',
    )
    run_agent(successful_turn().install(tmp_path / "bin"), tmp_path)
    assert json.loads(path.read_bytes()) == {
        "total_cost_usd": 1.75,
        "max_cost_usd": 10.0,
        "iterations": 18,
        "max_iterations": 50,
    }


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


@pytest.mark.parametrize(
    ("spent", "words"),
    [
        ({"total_cost_usd": 10.0, "max_cost_usd": 10.0}, "10.0000 of 10.0000 USD"),
        ({"total_cost_usd": 0.1, "iterations": 3, "max_iterations": 3}, "3 of 3 runs"),
    ],
)
def test_a_spent_budget_stops_the_next_run_before_it_starts(tmp_path: Path, spent: object, words: str) -> None:
    path = write(tmp_path, "budget.json", json.dumps(spent))
    agent = successful_turn().install(tmp_path / "bin")
    finished = run_agent(agent, tmp_path).finished
    assert (finished.outcome.failed, finished.outcome.category) == (True, Category.BUDGET)
    assert finished.outcome.reason == f"the budget is spent: {words}"
    assert (finished.attempts, finished.outcome.exit_code, finished.log_path) == (0, None, None)
    assert not agent.starts
    assert json.loads(path.read_bytes()) == spent


def test_a_budget_that_a_crash_has_used_up_stops_the_second_try(tmp_path: Path) -> None:
    write(tmp_path, "budget.json", '{"max_iterations": 1}')
    agent = Script().kill().install(tmp_path / "bin")
    done = run_agent(agent, tmp_path)
    assert (done.finished.attempts, len(agent.starts)) == (1, 1)
    assert any(words.startswith("not retried: the budget is spent") for words in done.messages)


def test_every_attempt_counts(tmp_path: Path) -> None:
    agent = Script().on_start(1, Script().kill()).out(init(), result()).install(tmp_path / "bin")
    run_agent(agent, tmp_path)
    assert state(tmp_path, "budget.json")["iterations"] == 2


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


def test_the_agents_own_figure_is_the_cost() -> None:
    record = Record(total_cost_usd=0.5, model="claude-sonnet-4-5", usage=Tally(input_tokens=1_000_000))
    assert cost_of(record, "claude") == Cost(0.5, "agent")


def test_without_a_figure_the_cost_comes_from_tokens_and_prices() -> None:
    usage = Tally(input_tokens=100_000, output_tokens=10_000, cache_read_input_tokens=10_000)
    cost = cost_of(Record(model="claude-sonnet-4-5", usage=usage), "claude")
    assert cost.source == "prices"
    assert cost.usd == pytest.approx(0.3 + 0.15 + 0.003)


def test_agents_that_count_cached_tokens_in_pay_for_them_once() -> None:
    usage = Tally(input_tokens=100_000, cached_input_tokens=100_000)
    codex, claude = (cost_of(Record(model="gpt-5", usage=usage), agent).usd for agent in ("codex", "claude"))
    assert codex is not None
    assert claude is not None
    assert codex < claude


def test_an_unknown_cost_stays_unknown() -> None:
    assert cost_of(Record(), "claude") == Cost(None, None)
    assert cost_of(Record(model="no-such-model", usage=Tally(input_tokens=1)), "claude") == Cost(None, None)


def test_a_run_without_a_figure_is_priced_and_counted(tmp_path: Path) -> None:
    usage = {"input_tokens": 100_000, "output_tokens": 0}
    agent = Script().out(init(), result(total_cost_usd=None, usage=usage)).install(tmp_path / "bin")
    finished = run_agent(agent, tmp_path).finished
    assert (finished.cost.source, finished.record.total_cost_usd) == ("prices", None)
    assert state(tmp_path, "budget.json")["total_cost_usd"] == pytest.approx(0.3)


def test_the_budget_of_a_workspace_without_a_file_has_no_limit(tmp_path: Path) -> None:
    assert budget.read(tmp_path) == Budget()
    assert Budget().exhausted is None


def test_a_lost_run_is_counted_once_however_often_it_is_killed_over_it(tmp_path: Path) -> None:
    folder = tmp_path / FOLDER
    folder.mkdir(parents=True)
    (folder / "run.ndjson").write_text(init() + result(total_cost_usd=0.5))
    (folder / "run.meta.json").write_text('{"agent": "claude", "mode": "coder"}')
    before = Budget(total_cost_usd=1.0, iterations=3)
    work = lock_note("run.ndjson", before)

    counted = recover(tmp_path, work, before)
    assert counted is not None
    assert (counted[0].iterations, counted[0].total_cost_usd) == (4, 1.5)
    assert recover(tmp_path, work, counted[0]) is None, "killed after it was counted, before the lock said so"
    assert sessions.read(tmp_path).coder == SESSION


def test_a_lost_run_that_printed_nothing_cost_nothing(tmp_path: Path) -> None:
    folder = tmp_path / FOLDER
    folder.mkdir(parents=True)
    (folder / "run.ndjson").touch()
    assert recover(tmp_path, lock_note("run.ndjson", Budget()), Budget()) is None
    assert not budget_file(tmp_path).exists()


def test_a_lost_run_with_a_damaged_description_is_counted_and_the_damage_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / FOLDER
    folder.mkdir(parents=True)
    (folder / "run.ndjson").write_text(init() + result(total_cost_usd=0.5))
    (folder / "run.meta.json").write_text("{torn")
    counted = recover(tmp_path, lock_note("run.ndjson", Budget()), Budget())
    assert counted is not None
    assert counted[0].total_cost_usd == 0.5
    assert (folder / "run.meta.json").read_text() == "{torn"

"""The budget of a workspace: exact fields, what stops the next run, and where a cost comes from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bridle.errors import DiskError
from bridle.run import budget
from bridle.run.budget import Budget, Cost, cost_of, cost_so_far, name_run_limits, read
from bridle.wire.record.error_category import Category
from bridle.wire.record.record import Record, Tally
from tests.run.fixtures.agent_runs import run_agent
from tests.run.fixtures.fake_agent import Script, init, line, result, successful_turn

STATE = ".ralph/state"


def state(cwd: Path, name: str) -> Any:
    return json.loads((cwd / STATE / name).read_bytes())


def write(cwd: Path, name: str, text: str) -> Path:
    (cwd / STATE).mkdir(parents=True)
    path = cwd / STATE / name
    path.write_text(text)
    return path


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


@pytest.mark.parametrize("name", ["total_cost_usd", "known_cost_usd", "max_cost_usd", "iterations", "max_iterations"])
def test_a_negative_amount_is_refused(tmp_path: Path, name: str) -> None:
    write(tmp_path, "budget.json", json.dumps({name: -1}))
    with pytest.raises(DiskError, match="every amount must be a number from 0, got -1"):
        budget.read(tmp_path)


@pytest.mark.parametrize(
    ("spent", "words"),
    [
        ({"total_cost_usd": 10.0, "max_cost_usd": 10.0}, "10.0000 of 10.0000 USD"),
        ({"total_cost_usd": 0.1, "iterations": 3, "max_iterations": 3}, "3 of 3 runs"),
        ({"total_cost_usd": 0.1, "iterations": 1, "max_iterations": 1}, "1 of 1 run"),
    ],
)
def test_a_spent_budget_stops_the_next_run_before_it_starts(tmp_path: Path, spent: object, words: str) -> None:
    path = write(tmp_path, "budget.json", json.dumps(spent))
    agent = successful_turn().install(tmp_path / "bin")
    finished = run_agent(agent, tmp_path).finished
    assert (finished.outcome.failed, finished.outcome.category) == (True, Category.BUDGET)
    assert str(finished.outcome.reason).startswith(f"the budget is spent: {words} (raise or delete max_")
    assert str(finished.outcome.reason).endswith(" in .ralph/state/budget.json)")
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


def test_the_agents_own_figure_is_the_cost() -> None:
    record = Record(total_cost_usd=0.5, model="claude-sonnet-4-5", usage=Tally(input_tokens=100_000))
    assert cost_of(record, "claude") == Cost(0.5, "agent")
    rounded = Record(total_cost_usd=0.2999, model="claude-sonnet-4-5", usage=Tally(input_tokens=100_000))
    assert cost_of(rounded, "claude") == Cost(0.2999, "agent")


def test_a_figure_below_the_lowest_price_of_the_tokens_is_replaced_by_it() -> None:
    usage = Tally(input_tokens=1_000_000, cache_read_input_tokens=1_000_000)
    record = Record(total_cost_usd=0.001, model="claude-sonnet-4-5", usage=usage)
    least = cost_of(record, "claude")
    assert (least.source, least.reported_usd) == ("prices", 0.001)
    assert least.usd == pytest.approx(3.3, abs=0.01), "at the rate of small requests"
    helper = Record(total_cost_usd=1.2, model="claude-sonnet-4-5", usage=usage, model_usage={"claude-haiku-4-5": {}})
    assert cost_of(helper, "claude") == Cost(1.2, "agent"), "the tokens may be those of its cheapest model"
    unpriced = Record(total_cost_usd=0.001, model="claude-sonnet-4-5", usage=usage, model_usage={"no-such-model": {}})
    assert cost_of(unpriced, "claude") == Cost(0.001, "agent")


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


def test_an_interrupted_agent_that_reports_nothing_has_the_cost_of_its_messages(tmp_path: Path) -> None:
    usage = {"input_tokens": 100_000, "output_tokens": 0}
    said = line({"type": "assistant", "message": {"id": "m", "content": [], "usage": usage}})
    nothing = result("", subtype="error_during_execution", is_error=True, total_cost_usd=0, usage={"input_tokens": 0})
    agent = Script().out(init(model="claude-sonnet-4-5"), said, nothing).install(tmp_path / "bin")
    assert run_agent(agent, tmp_path).finished.cost == Cost(0.3, "prices")
    assert state(tmp_path, "budget.json")["total_cost_usd"] == 0.3
    unpriced = Script().out(init(model="no-such-model"), said, nothing).install(tmp_path / "unpriced")
    assert run_agent(unpriced, tmp_path).finished.cost == Cost(None, None)


def test_an_unknown_cost_stays_unknown() -> None:
    assert cost_of(Record(), "claude") == Cost(None, None)
    assert cost_of(Record(model="no-such-model", usage=Tally(input_tokens=1)), "claude") == Cost(None, None)


def test_a_later_turn_without_a_cost_makes_the_total_unknown_beside_its_known_part(tmp_path: Path) -> None:
    turns = (init(), result(total_cost_usd=0.03), init(), result(total_cost_usd=None))
    finished = run_agent(Script().out(*turns).install(tmp_path / "bin"), tmp_path).finished
    assert (finished.total_cost_usd, finished.cost_source, finished.known_cost_usd) == (None, None, 0.03)
    spent = state(tmp_path, "budget.json")
    assert (spent["total_cost_usd"], spent["known_cost_usd"]) == (None, 0.03)


def test_a_run_without_a_figure_is_priced_and_counted(tmp_path: Path) -> None:
    usage = {"input_tokens": 100_000, "output_tokens": 0}
    agent = Script().out(init(), result(total_cost_usd=None, usage=usage)).install(tmp_path / "bin")
    finished = run_agent(agent, tmp_path).finished
    assert (finished.cost.source, finished.record.total_cost_usd) == ("prices", None)
    assert state(tmp_path, "budget.json")["total_cost_usd"] == pytest.approx(0.3)


def test_a_total_with_an_unknown_cost_is_unknown_beside_its_known_part(tmp_path: Path) -> None:
    path = write(tmp_path, "budget.json", '{"total_cost_usd": 1.5}')
    agent = Script().out(init(), result(total_cost_usd=None, usage={})).install(tmp_path / "bin")
    run_agent(agent, tmp_path)
    unknown = {"total_cost_usd": None, "max_cost_usd": None, "iterations": 1, "max_iterations": None}
    assert json.loads(path.read_bytes()) == unknown | {"known_cost_usd": 1.5}
    run_agent(successful_turn().install(tmp_path / "bin", "known"), tmp_path)
    assert json.loads(path.read_bytes()) == unknown | {"known_cost_usd": 1.75, "iterations": 2}
    path.write_text(json.dumps(unknown | {"known_cost_usd": 1.75, "max_cost_usd": 1.5}))
    exhausted = budget.read(tmp_path).exhausted
    assert exhausted is not None
    assert exhausted.startswith("the budget is spent: 1.7500 of 1.5000 USD")


def test_an_attempt_that_printed_nothing_has_cost_nothing(tmp_path: Path) -> None:
    agent = Script().on_start(1, Script().kill()).out(init(), result()).install(tmp_path / "bin")
    run_agent(agent, tmp_path)
    assert state(tmp_path, "budget.json")["total_cost_usd"] == 0.25


def test_the_budget_of_a_workspace_without_a_file_has_no_limit(tmp_path: Path) -> None:
    assert budget.read(tmp_path) == Budget()
    assert Budget().exhausted is None


def test_the_requested_model_has_the_price_of_an_agent_that_does_not_report_its_own() -> None:
    record = Record(events=3, usage=Tally(input_tokens=100_000))
    assert cost_of(record, "codex") == Cost(None, None)
    assert cost_of(record, "codex", model="gpt-5") == Cost(0.125, "prices")
    reported = Record(events=3, usage=Tally(input_tokens=100_000), model="claude-sonnet-4-5")
    assert cost_of(reported, "codex", model="gpt-5") == Cost(0.3, "prices")


def test_an_agent_that_was_cut_off_before_a_priced_model_answered_has_cost_nothing() -> None:
    assert cost_so_far(Record(), "claude").usd == 0
    assert cost_so_far(Record(events=1, model="claude-sonnet-4-5"), "claude").usd == 0
    assert cost_so_far(Record(events=1, model="no-such-model"), "claude").usd is None
    assert cost_so_far(Record(events=1), "codex").usd is None
    assert cost_so_far(Record(events=2, model="claude-sonnet-4-5", tool_uses=1), "claude").usd is None
    assert cost_so_far(Record(events=2, model="claude-sonnet-4-5", results=1), "claude").usd is None


def test_damaged_limits_of_a_run_stop_nothing(tmp_path: Path) -> None:
    name_run_limits(tmp_path, "r1", max_cost_usd=5.0, max_iterations=3)
    assert read(tmp_path) == Budget()
    for text in ("{", "[]", '{"run": 1}'):
        (tmp_path / ".ralph/state/run-limits.json").write_text(text)
        assert read(tmp_path).exhausted is None


def test_messages_that_a_result_leaves_out_are_added_by_their_price(tmp_path: Path) -> None:
    said = [
        line({"type": "assistant", "message": {"id": name, "content": [], "usage": {"input_tokens": tokens}}})
        for name, tokens in (("a", 1000), ("b", 100_000))
    ]
    cut = result(
        "",
        subtype="error_during_execution",
        is_error=True,
        total_cost_usd=0.5,
        usage={"input_tokens": 1000},
        modelUsage={"claude-sonnet-4-5": {"inputTokens": 1000}},
    )
    agent = Script().out(init(model="claude-sonnet-4-5"), *said, cut).install(tmp_path / "bin")
    assert run_agent(agent, tmp_path).finished.cost == Cost(0.8, "prices")
    assert state(tmp_path, "budget.json")["total_cost_usd"] == 0.8
    unpriced = Script().out(init(model="no-such-model"), *said, cut).install(tmp_path / "unpriced")
    assert run_agent(unpriced, tmp_path).finished.cost == Cost(None, None, 0.5)

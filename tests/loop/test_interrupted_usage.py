"""What an iteration used that was cut off stands in the receipt at once, and in every later one."""

from __future__ import annotations

import json
import os
import signal
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bridle.ground import prices
from tests.loop.fixtures.fake_agent import LIMIT_SECONDS, Project, make_project
from tests.loop.fixtures.loop_commands import (
    MAKES_FILE,
    ONE_TASK,
    assert_replays,
    in_background,
    receipt_of,
    run_plan,
    trailers,
    verdicts,
)
from tests.loop.fixtures.summarizer import summarizing
from tests.run.fixtures.fake_agent import wait_until

# The first time it says what it has used, and then it is silent; the second time it does its task.
SPENDS = """
usage = {"input_tokens": 1000, "output_tokens": 100}
if not os.path.exists(calls + task):
    show(type="assistant", parent_tool_use_id=None, message={"id": "m", "role": "assistant",
         "model": "claude-sonnet-4-5", "content": [{"type": "text", "text": "I begin."}], "usage": usage})
    open(calls + task, "w").close()
    time.sleep(600)
"""
SPENT = prices.cost_usd("claude-sonnet-4-5", input_tokens=1000, output_tokens=100, input_includes_cached=False)
TWO_AT_ONCE = "# Two\n\n## One\nCheck: `test -f one`\n\n## Two\nCheck: `test -f two`\n"


def has_spent(here: Project, *tasks: str) -> bool:
    return all((here.agent_folder / f"calls{task}").exists() for task in tasks)


def assert_counted(document: dict[str, Any], *tasks: str, is_running: bool = False) -> None:
    """The receipt holds what the agents of these tasks have used, and nothing else."""
    assert SPENT is not None
    wasted = 0.0 if is_running else SPENT
    assert document["cost_usd"] == document["known_cost_usd"] == pytest.approx(SPENT * len(tasks))
    assert document["wasted_usd"] == pytest.approx(wasted * len(tasks))
    assert (document["input_tokens"], document["output_tokens"]) == (1000 * len(tasks), 100 * len(tasks))
    assert document["seconds"] > 0
    for task in document["tasks"]:
        is_counted = task["title"] in tasks
        assert (task["cost_usd"], task["wasted_usd"]) == ((SPENT, wasted) if is_counted else (0, 0))
        assert task["input_tokens"] == (1000 if is_counted else 0)
        assert (task["seconds"] > 0) is is_counted


def assert_done(here: Project, before: dict[str, Any]) -> None:
    """After `resume` nothing of it is lost, and nothing is counted twice."""
    document = receipt_of(here.bridle("resume", "--json"), 0)
    tasks = len(document["tasks"])
    assert SPENT is not None
    assert document["cost_usd"] == pytest.approx((SPENT + 0.01) * tasks)
    assert document["wasted_usd"] == pytest.approx(SPENT * tasks)
    assert document["verified_usd"] == pytest.approx(0.01 * tasks)
    assert (document["input_tokens"], document["output_tokens"]) == (1010 * tasks, 102 * tasks)
    assert document["seconds"] > before["seconds"]
    for task, earlier in zip(document["tasks"], before["tasks"], strict=True):
        assert task["seconds"] > earlier["seconds"]
        assert trailers(here, task["commit"])["Bridle-Cost"] == f"{SPENT + 0.01:.4f} USD"
    assert_replays(here)


def test_after_an_interrupt(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, SPENDS + MAKES_FILE)
    with in_background(here, "run", "PLAN.md", "--json") as child:
        wait_until(lambda: has_spent(here, "One"))
        child.send_signal(signal.SIGINT)
        printed, _ = child.communicate(timeout=LIMIT_SECONDS)
    assert child.returncode == 130
    document = json.loads(printed)
    assert_counted(document, "One")
    assert receipt_of(here.bridle("status", "--json"), 0) == document
    assert_done(here, document)


def test_after_a_kill(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, SPENDS + MAKES_FILE)
    with in_background(here, "run", "PLAN.md") as child:
        wait_until(lambda: has_spent(here, "One") and receipt_of(here.bridle("status", "--json"), 0)["input_tokens"])
        os.killpg(child.pid, signal.SIGKILL)
    document = receipt_of(here.bridle("status", "--json"), 0)
    assert_counted(document, "One")
    assert_done(here, document)


def test_the_time_of_a_silent_agent_counts_until_its_driver_was_killed(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, SPENDS + MAKES_FILE)

    def seconds() -> float:
        return float(receipt_of(here.bridle("status", "--json"), 0)["tasks"][0]["seconds"])

    with in_background(here, "run", "PLAN.md") as child:
        wait_until(lambda: has_spent(here, "One"))
        wait_until(lambda: seconds() > 2)  # it has printed for less than one
        os.killpg(child.pid, signal.SIGKILL)
    assert seconds() > 2
    document = receipt_of(here.bridle("resume", "--json"), 0)
    assert 2 < document["tasks"][0]["seconds"] <= document["seconds"]
    assert_replays(here)


def test_at_the_time_limit(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, SPENDS + MAKES_FILE)
    document = run_plan(here, 3, "--max-time", "5")
    assert has_spent(here, "One")
    assert_counted(document, "One")
    assert document["seconds"] >= 5
    assert document["limits"]["max_seconds"] == 5
    again = receipt_of(here.bridle("resume", "--json"), 3)  # it says the same, and starts nothing
    assert_counted(again, "One")
    assert len(here.calls()) == 1


def test_in_parallel_worktrees(tmp_path: Path) -> None:
    here = make_project(tmp_path, TWO_AT_ONCE, SPENDS + MAKES_FILE)
    with in_background(here, "run", "PLAN.md", "--json", "--parallel", "2") as child:
        wait_until(lambda: has_spent(here, "One", "Two"))
        child.send_signal(signal.SIGINT)
        printed, _ = child.communicate(timeout=LIMIT_SECONDS)
    document = json.loads(printed)
    assert_counted(document, "One", "Two")
    assert_done(here, document)


def test_of_a_summary(tmp_path: Path) -> None:
    usage = '{"input_tokens":1000,"output_tokens":100}'
    init = '{"type":"system","subtype":"init","session_id":"s","model":"claude-sonnet-4-5"}'
    message = f'{{"id":"m","role":"assistant","content":[{{"type":"text","text":"I read."}}],"usage":{usage}}}'
    spends = f"""echo '{init}'; echo '{{"type":"assistant","message":{message}}}'; touch "$0.spent"; exec sleep 600"""
    here = summarizing(tmp_path, spends)
    with in_background(here, "run", "PLAN.md", "--json") as child:
        wait_until((here.agent_folder / "claude.spent").exists)
        child.send_signal(signal.SIGINT)
        printed, _ = child.communicate(timeout=LIMIT_SECONDS)
    document = json.loads(printed)
    assert SPENT is not None
    assert document["cost_usd"] == document["wasted_usd"] == pytest.approx(0.02 + SPENT)
    assert document["tasks"][0]["cost_usd"] == 0.02


KILLS = """
show(type="result", subtype="success", is_error=False, result="x", total_cost_usd=3.01, usage={"input_tokens": 1},
     session_id="s", num_turns=1, duration_ms=1, permission_denials=[])
time.sleep(1)
kill_bridle()
time.sleep(600)
"""


def test_the_reason_and_the_figures_name_the_same_amount_and_the_limit_in_force(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, KILLS)
    assert here.bridle("run", "PLAN.md").returncode == -9
    assert here.bridle("resume").returncode == -9
    document = receipt_of(here.bridle("resume", "--json", "--max-cost", "5"), 3)
    assert (document["cost_usd"], document["wasted_usd"], document["limits"]["max_cost_usd"]) == (6.02, 6.02, 5.0)
    shown = here.bridle("resume").stdout
    assert "6.0200 of 5 USD are spent" in shown
    assert "6.02 USD of 5" in shown
    assert " of 20" not in shown
    assert "6.02 USD of 5" in here.bridle("status").stdout
    budget = json.loads((here.folder / ".ralph/state/budget.json").read_text())
    assert (budget["max_cost_usd"], budget["total_cost_usd"], budget["iterations"]) == (5.0, 6.02, 2)


def test_the_shared_budget_counts_what_killed_agents_spent_in_worktrees(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, KILLS)
    assert here.bridle("run", "PLAN.md", "--worktree").returncode == -9
    receipt_of(here.bridle("resume", "--json", "--max-cost", "2"), 3)  # it starts nothing
    budget = json.loads((here.folder / ".ralph/state/budget.json").read_text())
    assert (budget["total_cost_usd"], budget["iterations"]) == (3.01, 1)
    assert len(here.calls()) == 1


def test_an_iteration_that_runs_is_counted_as_far_as_it_has_come(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, SPENDS + MAKES_FILE)
    with in_background(here, "run", "PLAN.md") as child:
        wait_until(lambda: has_spent(here, "One"))
        wait_until(lambda: receipt_of(here.bridle("status", "--json"), 0)["input_tokens"] == 1000)
        document = receipt_of(here.bridle("status", "--json"), 0)
        assert_counted(document, "One", is_running=True)
        assert "wasted" not in here.bridle("status").stdout
        assert document["at_work"]["pid"] == child.pid
        assert verdicts(document) == {"One": "pending"}


def has_run_longer(here: Project, seconds: float) -> bool:
    return float(receipt_of(here.bridle("status", "--json"), 0)["seconds"]) > seconds


def test_the_time_of_a_check_counts_that_a_kill_interrupted(tmp_path: Path) -> None:
    waits = f"test -e {tmp_path}/beside/go || {{ touch {tmp_path}/beside/begun; sleep 600; }}"
    here = make_project(tmp_path, f"# One\n\n## One\nCheck: `{waits}`\n", MAKES_FILE)
    times: list[float] = []
    for _ in range(2):  # the second driver is killed before it has a result
        (tmp_path / "beside/begun").unlink(missing_ok=True)
        with in_background(here, *(["resume"] if times else ["run", "PLAN.md", "--no-hooks"])) as child:
            wait_until((tmp_path / "beside/begun").exists)
            before = times[-1] if times else 0.0
            wait_until(partial(has_run_longer, here, before + 1))
            os.killpg(child.pid, signal.SIGKILL)
        times.append(receipt_of(here.bridle("status", "--json"), 0)["seconds"])
    assert times[0] > 1
    assert times[1] > times[0] + 1
    (tmp_path / "beside/go").touch()
    assert receipt_of(here.bridle("resume", "--json"), 0)["seconds"] > times[1]
    assert_replays(here)

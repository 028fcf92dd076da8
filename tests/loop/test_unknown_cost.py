"""A cost that is not known is unknown wherever it is printed, and never 0."""

from __future__ import annotations

import json
from pathlib import Path

from tests.loop.fixtures.fake_agent import make_project
from tests.loop.fixtures.loop_commands import (
    MAKES_FILE,
    ONE_TASK,
    TWO_TASKS,
    assert_replays,
    receipt_of,
    run_plan,
    trailers,
)

# It ends without a cost, and without tokens that have a price.
UNPRICED = f"""
{MAKES_FILE}
if task in FREE:
    show(type="result", subtype="success", is_error=False, result="done", num_turns=1, duration_ms=1,
         permission_denials=[], structured_output=answer)
    sys.exit(0)
"""
CANNOT_ACT = "an agent reported no cost and its model has no known price: --max-cost cannot act on it"


def test_of_an_agent_that_reports_none(tmp_path: Path) -> None:
    here = make_project(tmp_path, TWO_TASKS, "FREE = ('One', 'Two')" + UNPRICED)
    done = here.bridle("run", "PLAN.md", "--json")
    document = receipt_of(done, 0)
    for part in (document, *document["tasks"]):
        assert (part["cost_usd"], part["known_cost_usd"], part["verified_usd"]) == (None, 0.0, None)
        assert part["wasted_usd"] == 0.0
    for task in document["tasks"]:
        assert trailers(here, task["commit"])["Bridle-Cost"] == "unknown"
    assert done.stderr.count(CANNOT_ACT) == 1
    assert done.stderr.count("cost unknown") == 2
    assert "0.0000 USD" not in done.stderr
    shown = here.bridle("status").stdout
    assert "unknown of 20" in shown
    assert "unknown for verified iterations, 0.0000 USD wasted" in shown
    assert shown.count(CANNOT_ACT) == 1
    assert_replays(here)


def test_a_sum_of_known_and_unknown_costs_is_a_lower_bound(tmp_path: Path) -> None:
    here = make_project(tmp_path, TWO_TASKS, "FREE = ('Two',)" + UNPRICED)
    document = run_plan(here, 0)
    assert (document["cost_usd"], document["known_cost_usd"]) == (None, 0.01)
    assert [task["cost_usd"] for task in document["tasks"]] == [0.01, None]
    costs = [trailers(here, commit)["Bridle-Cost"] for commit in document["commits"]]
    assert costs == ["0.0100 USD", "unknown"]
    assert "at least 0.0100 USD of 20" in here.bridle("status").stdout
    budget = json.loads((here.folder / ".ralph/state/budget.json").read_text())
    assert (budget["total_cost_usd"], budget["known_cost_usd"], budget["iterations"]) == (None, 0.01, 2)
    assert_replays(here)


def test_the_commit_of_a_task_whose_iterations_differ_names_the_known_part(tmp_path: Path) -> None:
    body = "FREE = ('One',) if number == 2 else ()\nif number == 1: end(structured_output=answer)" + UNPRICED
    here = make_project(tmp_path, ONE_TASK, body)
    document = run_plan(here, 0)
    (task,) = document["tasks"]
    assert (task["iterations"], task["cost_usd"], task["known_cost_usd"]) == (2, None, 0.01)
    assert (task["verified_usd"], task["wasted_usd"]) == (None, 0.01)
    assert trailers(here, task["commit"])["Bridle-Cost"] == "at least 0.0100 USD"


def test_the_known_part_still_counts_for_the_limit(tmp_path: Path) -> None:
    here = make_project(tmp_path, TWO_TASKS, "FREE = ('One',)" + UNPRICED.replace("open(task", "open('x' + task"))
    document = run_plan(here, 1, "--max-cost", "0.01", "--tries", "2")
    assert document["cost_usd"] is None  # the first task failed, and the second needs it
    here = make_project(tmp_path / "known", ONE_TASK, "open(str(number), 'w').close()")
    run_plan(here, 3, "--max-cost", "0.01")
    assert len(here.calls()) == 1

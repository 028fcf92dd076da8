"""`budget.json` names the limits that are in force; those of a run stop that run alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.loop.fixtures.fake_agent import Project, make_project
from tests.loop.fixtures.loop_commands import ONE_TASK, receipt_of, run_plan

# The first time it leads nowhere.
SECOND_TIME = "open('one' if number % 2 == 0 else f'wrong{number}', 'w').close()"


def budget(here: Project) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((here.folder / ".ralph/state/budget.json").read_text())
    return document


def test_the_limits_of_the_command_line_and_of_resume_are_named(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, SECOND_TIME)
    run_plan(here, 3, "--max-cost", "5", "--max-iterations", "1")
    assert budget(here) == {"total_cost_usd": 0.01, "max_cost_usd": 5.0, "iterations": 1, "max_iterations": 1}
    receipt_of(here.bridle("resume", "--json", "--max-cost", "7", "--max-iterations", "9"), 0)
    assert budget(here) == {"total_cost_usd": 0.02, "max_cost_usd": 7.0, "iterations": 2, "max_iterations": 9}


def test_the_defaults_are_named_too(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, SECOND_TIME)
    run_plan(here, 0)
    assert budget(here) == {"total_cost_usd": 0.02, "max_cost_usd": 20.0, "iterations": 2, "max_iterations": 50}


def test_the_limits_of_one_run_do_not_stop_the_next(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, SECOND_TIME)
    run_plan(here, 0, "--max-cost", "0.03", "--max-iterations", "2")
    here.git("checkout", "-q", "main")
    run_plan(here, 0, "--max-cost", "0.03", "--max-iterations", "2")
    assert budget(here) == {"total_cost_usd": 0.04, "max_cost_usd": 0.05, "iterations": 4, "max_iterations": 4}
    assert "the budget is spent" not in here.bridle("ask", "one more").stderr
    assert budget(here)["iterations"] > 4


def test_limits_that_the_user_wrote_stay(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, SECOND_TIME)
    file = here.folder / ".ralph/state/budget.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"max_cost_usd": 0.01}))
    run_plan(here, 3, "--max-cost", "5")
    assert budget(here) == {"total_cost_usd": 0.01, "max_cost_usd": 0.01, "iterations": 1, "max_iterations": 50}


def test_in_a_worktree_the_users_own_file_names_them(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, SECOND_TIME)
    run_plan(here, 0, "--worktree", "--max-cost", "5")
    assert budget(here) == {"total_cost_usd": 0.02, "max_cost_usd": 5.0, "iterations": 2, "max_iterations": 50}

"""A run that ends before its first commit leaves the user where they were."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.loop.fixtures.fake_agent import make_project
from tests.loop.fixtures.loop_commands import (
    DOES_NOTHING,
    MAKES_FILE,
    ONE_TASK,
    TWO_TASKS,
    assert_replays,
    receipt_of,
    run_plan,
    verdicts,
    working_copy_state,
)


def test_a_failed_run_without_a_commit_is_left_and_can_be_tried_again(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, "if number > 1: " + MAKES_FILE, base="base\n")
    (here.folder / "base").write_text("mine\n")
    before = working_copy_state(here)
    document = run_plan(here, 1, "--tries", "1", "--allow-dirty")
    assert working_copy_state(here) == before
    assert here.git("branch", "--list", "bridle/*") == ""
    assert document["undo"] == ""
    assert "nothing to undo" in here.bridle("undo", "--yes").stderr
    here.git("commit", "-q", "-a", "-m", "on main in the meantime")
    again = receipt_of(here.bridle("retry", "One", "--resume", "--json"), 0)
    assert verdicts(again) == {"One": "done"}
    assert here.git("rev-parse", f"{again['branch']}~1") == here.git("rev-parse", "main~1")
    assert_replays(here)


def test_unfinished_work_stays_on_the_branch_and_the_next_run_names_it(tmp_path: Path) -> None:
    here = make_project(tmp_path, TWO_TASKS, "open('base', 'a').write('x')", base="base\n")
    document = run_plan(here, 3, "--max-iterations", "1")
    assert here.git("branch", "--show-current") == document["branch"]
    refused = here.bridle("run", "PLAN.md")
    assert refused.returncode == 2
    assert f"bridle undo {document['run']}" in refused.stderr


def test_the_next_run_does_not_stack_on_an_empty_branch(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, MAKES_FILE)
    first = run_plan(here, 0)
    here.git("checkout", "-q", "main")
    here.git("branch", "-f", first["branch"], "main")  # as a killed run of an earlier version leaves it
    here.git("checkout", "-q", first["branch"])
    second = run_plan(here, 0)
    assert second["merge"] == f"git checkout main && git merge {second['branch']}"
    assert here.bridle("undo", "--yes").returncode == 0
    assert here.git("branch", "--show-current") == "main"


def test_a_run_whose_tasks_were_satisfied_makes_no_branch(tmp_path: Path) -> None:
    here = make_project(tmp_path, "# P\n\n## One\nCheck: `true`\n", DOES_NOTHING)
    before = working_copy_state(here)
    run_plan(here, 0)
    assert working_copy_state(here) == before
    assert here.git("branch", "--format=%(refname:short)") == "main"


def test_a_plan_that_the_user_edits_between_two_drivers_is_no_work_of_the_run(tmp_path: Path) -> None:
    plan = "# P\n\nChecks: `no-such-program`\n\n## One\nCheck: `test -f one`\n"
    here = replace(make_project(tmp_path, plan, MAKES_FILE), has_baseline=True)
    assert here.bridle("run", "PLAN.md").returncode == 2
    (here.folder / "PLAN.md").write_text(plan.replace("no-such-program", "true"))
    assert here.bridle("resume").returncode == 2  # still the old plan
    assert here.git("branch", "--show-current") == "main"
    assert here.git("branch", "--list", "bridle/*") == ""
    document = receipt_of(here.bridle("resume", "--replan", "--json"), 0)
    assert verdicts(document) == {"One": "done"}
    assert_replays(here)

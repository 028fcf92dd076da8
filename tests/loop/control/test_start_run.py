"""Where a run can start: changes of the plan and of Bridle's settings do not prevent it, and are in no commit."""

from __future__ import annotations

import os
import time
from pathlib import Path

from tests.loop.fixtures.fake_agent import make_project
from tests.loop.fixtures.loop_commands import (
    MAKES_FILE,
    ONE_TASK,
    TWO_TASKS,
    assert_replays,
    receipt_of,
    run_plan,
    working_copy_state,
)

EDITED = TWO_TASKS.replace("## Two", "Edited.\n\n## Two")


def test_edits_of_the_plan_and_of_bridle_toml_are_in_no_commit(tmp_path: Path) -> None:
    here = make_project(tmp_path, TWO_TASKS, MAKES_FILE, **{"bridle.toml": "tries = 2\n"})
    (here.folder / "PLAN.md").write_text(EDITED)
    (here.folder / "bridle.toml").write_text("tries = 3\n")
    here.git("add", "bridle.toml")
    before = working_copy_state(here)
    run_plan(here, 3, "--max-iterations", "1")
    (here.folder / "PLAN.md").write_text(EDITED + "\n")
    document = receipt_of(here.bridle("resume", "--json", "--max-iterations", "9"), 0)
    assert here.git("diff", "--name-only", "main", "HEAD").split() == ["one", "two"]
    assert (here.folder / "PLAN.md").read_text() == EDITED + "\n"
    assert (here.folder / "bridle.toml").read_text() == "tries = 3\n"
    assert_replays(here)
    (here.folder / "PLAN.md").write_text(EDITED)
    assert here.bridle("undo", document["run"], "--yes").returncode == 0
    assert working_copy_state(here) == before


def test_what_tick_wrote_does_not_prevent_the_next_run(tmp_path: Path) -> None:
    here = make_project(tmp_path, TWO_TASKS, MAKES_FILE)
    run_plan(here, 3, "--max-iterations", "1", "--tick")
    assert here.git("status", "--porcelain").strip() == "M PLAN.md"
    here.git("checkout", "-q", "main")
    document = run_plan(here, 0)
    assert [task["title"] for task in document["tasks"]] == ["Two"]
    assert "PLAN.md" not in here.git("diff", "--name-only", "main", "HEAD")


def test_edits_of_a_plan_that_is_not_in_git_are_not_called_committed(tmp_path: Path) -> None:
    here = make_project(tmp_path, TWO_TASKS, MAKES_FILE)
    here.git("rm", "-q", "--cached", "PLAN.md")
    here.git("commit", "-qm", "without the plan")
    run_plan(here, 3, "--max-iterations", "1")
    (here.folder / "PLAN.md").write_text(EDITED)
    done = here.bridle("resume", "--replan", "--max-iterations", "9")
    assert done.returncode == 0, done.stderr
    assert "you changed PLAN.md: left alone, and in no commit" in done.stderr
    assert "committed with the next task" not in done.stderr
    assert "with changes of yours" not in done.stdout
    assert here.git("diff", "--name-only", "main", "HEAD").split() == ["one", "two"]


def test_other_files_still_count(tmp_path: Path) -> None:
    here = make_project(tmp_path, TWO_TASKS, MAKES_FILE, base="base\n")
    (here.folder / "PLAN.md").write_text(EDITED)
    (here.folder / "base").write_text("edited\n")
    refused = here.bridle("run", "PLAN.md")
    assert refused.returncode == 2
    assert "has uncommitted changes: base" in refused.stderr


def test_unfinished_work_of_another_run_is_not_taken_for_a_satisfied_task(tmp_path: Path) -> None:
    """An untracked file of an agent that was stopped would make the check of a new run pass, in no commit."""
    here = make_project(tmp_path, ONE_TASK, "open('half', 'w').close()")
    run_plan(here, 3, "--max-iterations", "1")
    (here.folder / "one").touch()  # what the next iteration would have made
    refused = here.bridle("run", "PLAN.md")
    (run,) = (folder.name for folder in (here.folder / ".a5c/runs").glob("[!.]*"))
    assert refused.returncode == 2
    assert f"run {run} is not finished" in refused.stderr
    assert "half, one" in refused.stderr
    assert f"bridle resume {run}" in refused.stderr
    assert here.bridle("undo", run, "--yes").returncode == 0
    (here.folder / "one").unlink(missing_ok=True)
    run_plan(here, 3, "--max-iterations", "1")


def test_files_of_an_unfinished_run_are_named_on_another_branch(tmp_path: Path) -> None:
    """The user stopped a run, checked out main, and starts another: its untracked files came along."""
    here = make_project(tmp_path, ONE_TASK, "open('half', 'w').close()")
    (here.folder / "notes").touch()  # the user's, from before
    run = run_plan(here, 3, "--max-iterations", "1")["run"]
    here.git("checkout", "-q", "main")
    (here.folder / "later").touch()  # the user's, from after
    os.utime(here.folder / "later", (time.time() + 60, time.time() + 60))
    said = here.bridle("run", "PLAN.md", "--max-iterations", "1").stderr
    named = f"run {run} is not finished, and these new files may be its work, on which checks of this run could pass"
    assert f"{named}: half. To continue it: bridle resume {run}." in said
    assert said.index(named) < said.index("iteration 1")


def test_files_of_a_run_that_was_undone_are_not_named(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, "open('half', 'w').close()")
    run_plan(here, 3, "--max-iterations", "1")
    assert here.bridle("undo", "--yes").returncode == 0
    (here.folder / "half").touch()
    os.utime(here.folder / "half", (0, 0))
    assert "is not finished" not in here.bridle("run", "PLAN.md", "--max-iterations", "1").stderr


def test_new_files_beside_a_run_that_has_failed_are_the_users(tmp_path: Path) -> None:
    here = make_project(tmp_path, TWO_TASKS, "open('one', 'w').close()")
    run_plan(here, 1, "--tries", "1")
    assert here.git("branch", "--show-current").startswith("bridle/")
    (here.folder / "notes").touch()
    run_plan(here, 1, "--tries", "1")

"""`bridle run --no-commit`: the work is in the user's files, on the user's branch, and in no commit of it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from bridle.loop.working_copy.uncommitted_note import FILE
from tests.loop.fixtures.fake_agent import Project, make_project
from tests.loop.fixtures.killed_commands import KilledCommand
from tests.loop.fixtures.loop_commands import (
    MAKES_FILE,
    ONE_TASK,
    TWO_TASKS,
    assert_refused,
    assert_replays,
    receipt_of,
    run_folder,
    run_plan,
    verdicts,
    working_copy_state,
)

# Makes the task's file, changes a tracked one, and deletes another.
WORK = MAKES_FILE + "\nopen('base', 'a').write(task + '\\n')\nif os.path.exists('old'): os.remove('old')"

# Does the second task only when it is tried again.
SECOND_TRY = "if task == 'One' or number > 2:\n    " + WORK.replace("\n", "\n    ")
# The commands of git that leave the run's branch and come back to it.
MOVES = '*"symbolic-ref -m bridle: "*|*"read-tree --reset "*'


def project(tmp_path: Path, plan: str = TWO_TASKS, agent: str = WORK) -> Project:
    here = make_project(tmp_path, plan, agent, base="base\n", old="old\n")
    (here.folder / "notes").write_text("mine\n")
    return here


def assert_left(here: Project, status: str = " M base\n D old\n?? notes\n?? one\n?? two") -> None:
    assert here.git("branch", "--show-current") == "main"
    assert here.git("log", "--format=%s", "main").count("\n") == 0
    assert here.git("status", "--porcelain").strip() == status.strip()


def test_the_work_is_in_the_files_and_the_users_branch_has_no_commit(tmp_path: Path) -> None:
    here = project(tmp_path)
    before = here.git("rev-parse", "main")
    document = run_plan(here, 0, "--no-commit")
    assert_left(here)
    assert here.git("rev-parse", "main") == before
    assert (here.folder / "base").read_text() == "base\nOne\nTwo\n"
    assert here.git("log", "--format=%s", f"main..{document['branch']}").splitlines() == ["Two", "One"]
    assert (document["uncommitted"], document["merge"]) == (True, "")
    assert "left in your working copy, not committed" in here.bridle("status").stdout
    assert_replays(here)


def test_undo_restores_the_files_from_before_the_run(tmp_path: Path) -> None:
    here = project(tmp_path)
    before = working_copy_state(here)
    document = run_plan(here, 0, "--no-commit")
    done = json.loads(here.bridle("undo", "--yes", "--json").stdout)
    assert working_copy_state(here) == before
    assert here.git("branch", "--list", "bridle/*") == ""
    assert here.git("log", "--format=%s", f"main..{done['kept']}").splitlines() == ["Two", "One"]
    assert not (here.folder / ".a5c/runs" / document["run"] / FILE).exists()


def test_a_failed_task_is_tried_again_on_top_of_the_work_and_of_the_users_edits(tmp_path: Path) -> None:
    here = project(tmp_path, agent=SECOND_TRY)
    assert verdicts(run_plan(here, 1, "--no-commit", "--tries", "1")) == {"One": "done", "Two": "failed"}
    assert_left(here, " M base\n D old\n?? notes\n?? one")
    (here.folder / "base").write_text("base\nOne\nmine\n")
    again = receipt_of(here.bridle("retry", "Two", "--resume", "--json"), 0)
    assert verdicts(again) == {"One": "done", "Two": "done"}
    assert again["found"] == ["you changed base: this is checked and committed with the next task"]
    assert_left(here)
    assert (here.folder / "base").read_text() == "base\nOne\nmine\nTwo\n"
    assert_replays(here)


def test_work_that_the_user_has_committed_or_dropped_is_where_the_run_continues(tmp_path: Path) -> None:
    here = project(tmp_path, agent=SECOND_TRY)
    run_plan(here, 1, "--no-commit", "--tries", "1")
    here.git("checkout", "-q", "--", ".")
    (here.folder / "one").unlink()
    again = receipt_of(here.bridle("retry", "Two", "--resume", "--json"), 0)
    assert "found" not in again
    assert_left(here)
    here.git("add", "one", "two", "base", "old")
    here.git("commit", "-q", "-m", "by the user")
    mine = here.git("rev-parse", "main")
    assert here.bridle("undo", "--yes").returncode == 0
    assert here.git("rev-parse", "HEAD") == mine
    assert here.git("status", "--porcelain").strip() == "?? notes"


def test_a_run_that_is_stopped_stays_on_its_branch_until_it_ends(tmp_path: Path) -> None:
    here = project(tmp_path)
    stopped = run_plan(here, 3, "--no-commit", "--max-iterations", "1")
    assert here.git("branch", "--show-current") == stopped["branch"]
    assert "uncommitted" not in stopped
    assert receipt_of(here.bridle("resume", "--max-iterations", "9", "--json"), 0)["uncommitted"]
    assert_left(here)


def test_a_branch_with_new_commits_is_left_alone(tmp_path: Path) -> None:
    here = project(tmp_path)
    stopped = run_plan(here, 3, "--no-commit", "--max-iterations", "1")
    later = here.git("commit-tree", "-p", "main", "-m", "later", here.git("rev-parse", "main^{tree}"))
    here.git("update-ref", "refs/heads/main", later)
    done = here.bridle("resume", "--max-iterations", "9", "--json")
    assert "main has new commits since the run began" in done.stderr
    assert here.git("branch", "--show-current") == stopped["branch"]
    assert "uncommitted" not in receipt_of(done, 0)


def test_a_commit_without_a_branch_is_checked_out_again(tmp_path: Path) -> None:
    here = project(tmp_path, ONE_TASK)
    here.git("checkout", "-q", "--detach")
    before = here.git("rev-parse", "HEAD")
    run_plan(here, 0, "--no-commit")
    assert (here.git("rev-parse", "HEAD"), here.git("branch", "--show-current")) == (before, "")
    assert here.bridle("undo", "--yes").returncode == 0
    assert here.git("status", "--porcelain").strip() == "?? notes"


@pytest.mark.parametrize("option", ["--parallel=2", "--worktree", "--pr"])
def test_what_cannot_be_combined_is_refused(tmp_path: Path, option: str) -> None:
    assert "--no-commit" in assert_refused(project(tmp_path), 2, "--no-commit", option)


def test_changes_of_the_user_would_be_mixed_with_the_work(tmp_path: Path) -> None:
    here = project(tmp_path)
    (here.folder / "base").write_text("mine\n")
    assert "would be mixed" in assert_refused(here, 2, "--no-commit", "--allow-dirty")


def test_killed_while_it_comes_back_or_leaves_no_work_is_lost(tmp_path: Path) -> None:
    here = project(tmp_path, agent=SECOND_TRY)
    run_plan(here, 1, "--no-commit", "--tries", "1")
    killed = KilledCommand(here, ("retry", "Two", "--resume", "--json"), tmp_path)
    killed.prepare()
    counting = (tmp_path / "bin/git").read_text().splitlines(keepends=True)
    uncounted = f'case "$*" in {MOVES}) ;; *) exec {shutil.which("git")} "$@" ;; esac\n'
    (tmp_path / "bin/git").write_text("".join([counting[0], uncounted, *counting[1:]]))
    total = killed.run(None)
    assert_left(here)
    for point in (1, 3, total - 4, total - 3):  # after the index, after HEAD; before HEAD, before the index
        killed.run(point)
        is_staged = here.git("diff", "--cached", "--name-only", "main").splitlines() == ["base", "old", "one"]
        is_on_main = here.git("branch", "--show-current") == "main"
        assert (is_staged, is_on_main) == {1: (True, True), 3: (True, False)}.get(point, (False, point == total - 3))
        if here.bridle("resume", "--json").returncode != 0:
            receipt_of(here.bridle("retry", "Two", "--resume", "--json"), 0)
        assert (here.folder / "base").read_text() == "base\nOne\nTwo\n", point
        assert here.git("diff", "--name-only", "main").splitlines()[:2] == ["base", "old"], point
        assert here.git("branch", "--show-current") == "main", point
        assert run_folder(here).joinpath(FILE).is_file(), point
        assert_replays(here)

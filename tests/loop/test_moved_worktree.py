"""A user moves the worktree of a run, or a repository has a newline in its name."""

from __future__ import annotations

from pathlib import Path

from tests.loop.fixtures.fake_agent import Project, make_project
from tests.loop.fixtures.loop_commands import MAKES_FILE, ONE_TASK, TWO_TASKS, assert_replays, run_plan


def test_a_worktree_that_was_moved_is_named_and_the_printed_command_continues_with_its_changes(tmp_path: Path) -> None:
    here = make_project(tmp_path, TWO_TASKS, MAKES_FILE, **{"app.txt": "first\n"})
    document = run_plan(here, 3, "--worktree", "--max-iterations", "1")
    worktree = here.folder / ".ralph/worktrees" / document["run"].lower()
    here.git("worktree", "move", str(worktree), "../else where")
    (tmp_path / "else where/app.txt").write_text("user\n")
    refused = here.bridle("resume", "--max-iterations", "9")
    assert f"is checked out in {tmp_path}/else where" in refused.stderr
    command = refused.stderr.split("continue: ")[1].split(" && ")[0]
    assert here.execute(["sh", "-c", command]).returncode == 0
    assert here.bridle("resume", "--max-iterations", "9").returncode == 0
    assert here.git("show", f"{document['branch']}:app.txt") == "user"
    assert_replays(here)


def test_undo_removes_the_branch_in_a_folder_with_a_newline_in_its_name(tmp_path: Path) -> None:
    made = make_project(tmp_path, ONE_TASK, MAKES_FILE)
    here = Project(made.folder.rename(tmp_path / "two\nlines"), made.agent_folder)
    branch = run_plan(here, 0)["branch"]
    assert here.bridle("undo", "--yes").returncode == 0
    assert branch not in here.git("branch", "--list", "bridle/*")

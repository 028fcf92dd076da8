"""The receipt's commands fit the run's branch as it is now: after a squash, and with commits of the user on it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.loop.fixtures.fake_agent import Project, make_project
from tests.loop.fixtures.loop_commands import MAKES_FILE, TWO_TASKS, assert_replays, run_plan


def user_commit(here: Project, name: str) -> str:
    (here.folder / name).write_text(f"{name}\n")
    here.git("add", name)
    here.git("commit", "-q", "-m", f"user: {name}")
    return here.git("rev-parse", "HEAD")


def status(here: Project) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(here.bridle("status", "--json").stdout)
    return document


def undo(here: Project) -> str:
    """Undo the last run; return the ref that keeps its work."""
    done = here.bridle("undo", "--yes", "--json")
    assert done.returncode == 0, done.stderr
    assert here.git("branch", "--format=%(refname:short)") == "main"
    kept: str = json.loads(done.stdout)["kept"]
    return kept


def output(here: Project, command: str) -> str:
    done = subprocess.run(command, shell=True, cwd=here.folder, check=True, capture_output=True, text=True, timeout=60)  # noqa: S602  # as printed
    return done.stdout


def test_commits_are_counted_reviewed_and_kept_by_undo(tmp_path: Path) -> None:
    here = make_project(tmp_path, TWO_TASKS, MAKES_FILE)
    run_plan(here, 3, "--max-iterations", "1")
    user_commit(here, "between")
    assert here.bridle("resume", "--max-iterations", "9").returncode == 0
    last = user_commit(here, "after")
    document = status(here)
    assert document["user_commits"] == 2
    shown = here.bridle("status").stdout
    assert "(2 commits, 2 more of yours)" in shown
    assert document["review"] in shown
    assert output(here, document["review"]).count("\ncommit ") + 1 == 4
    assert_replays(here)

    here.git("branch", "mine")
    assert "user_commits" not in status(here)
    here.git("branch", "-D", "mine")
    assert here.git("rev-parse", undo(here)) == last


def test_a_squash_of_two_tasks_is_one_commit(tmp_path: Path) -> None:
    plan = TWO_TASKS + "\n## Three\nNeeds: Two\nCheck: `test -f three`\n"
    here = make_project(tmp_path, plan, MAKES_FILE)
    run_plan(here, 3, "--max-iterations", "2")
    here.git("reset", "-q", "--soft", "main")
    here.git("commit", "-q", "-m", "both, and more")
    user_commit(here, "mine")
    assert here.bridle("resume", "--max-iterations", "9").returncode == 0
    document = status(here)
    assert len(document["commits"]) == 2
    assert document["user_commits"] == 1
    assert [task["verdict"] for task in document["tasks"]] == ["done"] * 3
    assert "(2 commits, 1 more of yours" in here.bridle("status").stdout
    assert len(here.calls()) == 3
    assert_replays(here)


def test_changes_that_went_into_commits_of_tasks_are_kept_by_undo(tmp_path: Path) -> None:
    here = make_project(tmp_path, TWO_TASKS, MAKES_FILE, base="base\n")
    run_plan(here, 3, "--max-iterations", "1")
    (here.folder / "base").write_text("base\nmine\n")
    (here.folder / "new").write_text("mine\n")
    here.git("add", "new")
    assert here.bridle("resume", "--max-iterations", "9").returncode == 0
    document = status(here)
    assert document["found"]
    assert "(2 commits, with changes of yours)" in here.bridle("status").stdout
    kept = undo(here)
    assert here.git("show", f"{kept}:base") == "base\nmine"
    assert here.git("show", f"{kept}:new") == "mine"


def test_an_amended_commit_is_kept_by_undo_before_and_after_the_run_goes_on(tmp_path: Path) -> None:
    here = make_project(tmp_path, TWO_TASKS, MAKES_FILE)
    run_plan(here, 3, "--max-iterations", "1")
    (here.folder / "one").write_text("mine\n")
    here.git("commit", "-q", "-a", "--amend", "--no-edit")
    assert here.bridle("resume", "--max-iterations", "9").returncode == 0
    document = status(here)
    assert document["has_user_changes"]
    assert here.git("show", f"{undo(here)}:one") == "mine"


def test_a_second_change_before_the_next_iteration_does_not_hide_the_first(tmp_path: Path) -> None:
    here = make_project(tmp_path, TWO_TASKS, MAKES_FILE)
    run_plan(here, 3, "--max-iterations", "1")
    here.git("commit", "-q", "--amend", "-m", "another message")
    assert here.bridle("resume").returncode == 3  # finds it, and executes nothing
    user_commit(here, "mine")
    assert here.bridle("resume", "--max-iterations", "9").returncode == 0
    document = status(here)
    on_branch = here.git("rev-list", document["branch"]).split()
    assert [task["commit"] in on_branch for task in document["tasks"]] == [True, True]
    assert len(document["found"]) == len(set(document["found"]))
    assert len(here.calls()) == 2
    assert_replays(here)


def test_undo_at_a_pause_keeps_unfinished_work_and_needs_no_hook(tmp_path: Path) -> None:
    agent = MAKES_FILE + "\nif task == 'Two': os.remove('two'); open('base', 'w').write('x'); open('half \"', 'w')"
    here = make_project(tmp_path, TWO_TASKS, agent, base="base\n")
    (here.folder / "mine").write_text("mine\n")
    run_plan(here, 3, "--max-iterations", "2")
    hook = here.folder / ".git/hooks/post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    kept = undo(here)
    assert here.git("status", "--porcelain") == "?? mine"
    assert (here.folder / "base").read_text() == "base\n"
    assert here.git("show", f"{kept}:base") == "x"
    assert here.git("ls-tree", "--name-only", "-z", f"{kept}", 'half "').strip("\0") == 'half "'


def test_a_task_that_the_user_reverts_is_open_again_and_no_other_is_blamed(tmp_path: Path) -> None:
    here = make_project(tmp_path, TWO_TASKS, MAKES_FILE)
    run_plan(here, 3, "--max-iterations", "1")
    here.git("revert", "--no-edit", "HEAD")
    done = here.bridle("resume", "--max-iterations", "9")
    assert done.returncode == 0, done.stderr
    assert "the commit of 'One' is reverted: the task is open again" in done.stderr
    assert [(task["verdict"], task["tries"]) for task in status(here)["tasks"]] == [("done", 0), ("done", 0)]
    assert len(here.calls()) == 3
    assert_replays(here)

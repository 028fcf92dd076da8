"""Files that the user marks assume-unchanged or skip-worktree, and those that a sparse checkout leaves out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.loop.fixtures.fake_agent import Project, make_project
from tests.loop.fixtures.killed_commands import KilledCommand, chosen_points
from tests.loop.fixtures.loop_commands import (
    MAKES_FILE,
    ONE_TASK,
    TWO_TASKS,
    assert_replays,
    run_plan,
    verdicts,
)
from tests.workspace.fixtures.repositories import read_tree

LINES = "1\n2\n3\n"


def state(here: Project) -> tuple[list[str], list[str], str]:
    names = [name for name in read_tree(here.folder) if not name.startswith((".a5c", ".ralph"))]
    return sorted(names), here.git("ls-files", "-v").splitlines(), here.git("status", "--porcelain")


def test_a_sparse_checkout_is_as_before_after_a_check_a_rollback_and_an_undo(tmp_path: Path) -> None:
    agent = "if task == 'Two': os.makedirs('out', exist_ok=True); open('out/y', 'w').write('agent')\n" + MAKES_FILE
    check = "mkdir -p out; echo c > out/y; git status; test -f one"
    plan = f"# Two\n\n## One\nCheck: `{check}`\n\n## Two\nCheck: `test -f nothing`\n"
    here = make_project(tmp_path, plan, agent, **{"in/x": "x", "out/y": "y", "out/z": "z"})
    here.git("sparse-checkout", "set", "in")
    names, marks, _ = state(here)
    document = run_plan(here, 1, "--tries", "1")
    assert verdicts(document) == {"One": "done", "Two": "failed"}
    assert state(here) == (sorted([*names, "one"]), sorted([*marks, "H one"], key=lambda line: line[2:]), "")
    (undone,) = here.git("for-each-ref", "--format=%(refname)", "refs/bridle/snapshots/*undone*").split()
    assert here.git("show", f"{undone}:out/y") == "agent"
    assert here.bridle("undo", "--yes").returncode == 0
    assert state(here) == (names, marks, "")
    assert_replays(here)


def test_undo_leaves_out_again_what_a_task_has_written_outside_of_a_sparse_checkout(tmp_path: Path) -> None:
    agent = "os.makedirs('out', exist_ok=True); open('out/y', 'w').write('agent')\n" + MAKES_FILE
    here = make_project(tmp_path, TWO_TASKS, agent, **{"in/x": "x", "out/y": "y", "out/z": "z"})
    here.git("sparse-checkout", "set", "in")
    before = state(here)
    run_plan(here, 3, "--max-iterations", "1")
    assert here.git("show", "HEAD:out/y") == "agent"
    assert (here.folder / "out/y").read_text() == "agent"
    assert here.bridle("undo", "--yes").returncode == 0
    assert state(here) == before


@pytest.mark.parametrize("command", ["mv conf new", "git mv conf new", "mv conf new; git add -A; git commit -qm own"])
def test_a_renamed_file_keeps_its_mark_and_undo_sets_that_of_the_old_name(tmp_path: Path, command: str) -> None:
    agent = f"import subprocess; subprocess.run({command!r}, shell=True)\n{MAKES_FILE}"
    here = make_project(tmp_path, ONE_TASK, agent, conf=LINES)
    here.git("update-index", "--assume-unchanged", "conf")
    before = state(here)
    run_plan(here, 0)
    assert here.git("show", "--format=", "--name-status", "--find-renames").splitlines() == [
        "R100\tconf\tnew",
        "A\tone",
    ]
    assert here.git("ls-files", "-v", "new") == "h new"
    assert here.bridle("undo", "--yes").returncode == 0
    assert state(here) == before


@pytest.mark.parametrize("mark", ["assume-unchanged", "skip-worktree"])
@pytest.mark.parametrize("command", ["rm conf", "git mv conf new", "git update-index --no-{mark} conf"])
def test_a_marked_file_with_local_changes_stays_with_its_mark(tmp_path: Path, mark: str, command: str) -> None:
    agent = f"import subprocess; subprocess.run({command.format(mark=mark)!r}, shell=True)\n{MAKES_FILE}"
    here = make_project(tmp_path, ONE_TASK, agent, conf=LINES)
    here.git("update-index", f"--{mark}", "conf")
    (here.folder / "conf").write_text(f"{LINES}mine\n")
    before = here.git("ls-files", "-v", "conf")
    (task,) = run_plan(here, 0)["tasks"]
    assert (here.folder / "conf").read_text() == f"{LINES}mine\n"
    assert here.git("ls-files", "-v", "conf") == before
    assert here.git("show", "HEAD:conf") == LINES.strip()
    if "update-index" in command:
        assert task["reported"] == [
            {"path": "conf", "what": "its mark (skip-worktree or assume-unchanged) was removed; it was set again"}
        ]


def test_a_mark_that_the_user_removes_between_drivers_is_not_set_again(tmp_path: Path) -> None:
    plan = TWO_TASKS.replace("test -f two", "test -f nothing")
    here = make_project(tmp_path, plan, MAKES_FILE, first="1\n", later="1\n")
    here.git("update-index", "--assume-unchanged", "first")
    run_plan(here, 3, "--max-iterations", "2", "--tries", "2")
    here.git("update-index", "--no-assume-unchanged", "first")
    here.git("update-index", "--assume-unchanged", "later")
    assert here.bridle("resume", "--max-iterations", "9").returncode == 1
    marks = "H first\nh later"
    assert here.git("ls-files", "-v", "first", "later") == marks
    assert here.bridle("undo", "--yes").returncode == 0
    assert here.git("ls-files", "-v", "first", "later") == marks


def test_an_undo_that_is_killed_leaves_out_files_and_sets_marks_when_it_is_repeated(tmp_path: Path) -> None:
    agent = "os.makedirs('out', exist_ok=True); open('out/y', 'w').write('agent'); os.rename('in/conf', 'in/new')\n"
    here = make_project(tmp_path, TWO_TASKS, agent + MAKES_FILE, **{"in/conf": LINES, "out/y": "y", "out/z": "z"})
    here.git("sparse-checkout", "set", "in")
    here.git("update-index", "--assume-unchanged", "in/conf")
    before = state(here)
    run_plan(here, 3, "--max-iterations", "1")
    assert here.git("ls-files", "-v", "in").split() == ["h", "in/new"]
    killed = KilledCommand(here, ("undo", "--yes", "--json"), tmp_path)
    killed.prepare()
    total = killed.run(None)
    assert state(here) == before
    for point in (*chosen_points(total), total * 3 // 4, total * 5 // 6):
        killed.run(point)
        assert here.bridle("undo", "--yes").returncode == 0
        assert state(here) == before, point

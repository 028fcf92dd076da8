"""Bridle is killed at one of its git commands, and resumes: the user's uncommitted changes and commits are safe."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.loop.fixtures.fake_agent import Project, make_project
from tests.loop.fixtures.killed_commands import LINES, NAMES, KilledCommand, chosen_points, make_dirty
from tests.loop.fixtures.loop_commands import MAKES_FILE, ONE_TASK, TWO_TASKS, receipt_of, run_plan
from tests.workspace.fixtures.repositories import read_tree

# The agent of the first task destroys git's files, those that it can write to.
AGENT = f"""
{MAKES_FILE}
for name in ("HEAD", "index", "packed-refs") if task == "One" else ():
    if os.access(".git/" + name, os.W_OK):
        open(".git/" + name, "w").write("garbage\\n")
"""
WORK = ("one", "two")


def work_beside(here: Project) -> None:
    """Continue between two drivers: commit a new file, change files that were changed before, and others."""
    (here.folder / "committed").write_text("by the user\n")
    here.git("add", "committed")
    here.git("commit", "-q", "-m", "of the user", "--", "committed")
    (here.folder / "edited").write_text("first\n" + LINES + "user\n")
    (here.folder / "program").write_text("changed\n")
    (here.folder / "second").write_text("notes\n")


def users_state(here: Project) -> dict[str, Any]:
    """Return all of the user's, without what the run adds."""
    names = [name for name in read_tree(here.folder) if not name.startswith((".ralph", ".a5c")) and name not in WORK]
    return {
        "files": {name: (here.folder / name).read_bytes() for name in names},
        "modes": {name: stat.S_IMODE((here.folder / name).stat().st_mode) for name in names},
        "index": [line for line in here.git("ls-files", "--stage").splitlines() if not line.endswith(WORK)],
        "status": here.git("status", "--porcelain"),
        "tag": here.git("rev-parse", "begun", "main"),
    }


def start_run(here: Project) -> tuple[str, ...]:
    return ("run", "PLAN.md", "--json", "--allow-dirty")


def pause_run(here: Project) -> tuple[str, ...]:
    """Run one iteration, and let the user work until the next driver."""
    run_plan(here, 3, "--allow-dirty", "--max-iterations", "1")
    work_beside(here)
    return ("resume", "--json", "--max-iterations", "9")


@pytest.mark.parametrize("begin", [start_run, pause_run])
def test_what_the_user_changed_is_there_after_a_kill_at_any_command_of_git(
    tmp_path: Path, begin: Callable[[Project], tuple[str, ...]]
) -> None:
    plan = TWO_TASKS if begin is pause_run else ONE_TASK
    here = make_project(tmp_path, plan, AGENT, **dict.fromkeys(NAMES, LINES))
    here.git("tag", "begun")
    here.git("pack-refs", "--all")
    make_dirty(here)
    killed = KilledCommand(here, begin(here), tmp_path)
    before = users_state(here)
    killed.prepare()
    total = killed.run(None)
    assert users_state(here) == before
    history = here.git("log", "--format=%s")
    for point in chosen_points(total):
        killed.run(point)
        if any((here.folder / ".a5c/runs").glob("[!.]*")):
            receipt_of(here.bridle("resume", "--json", "--max-iterations", "9"), 0)
            assert here.git("log", "--format=%s") == history, f"killed at point {point} of {total}"
        assert users_state(here) == before, f"killed at point {point} of {total}"

"""Bridle is killed at one of its git commands, and resumes: the user's uncommitted changes and commits are safe."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.loop.fixtures.fake_agent import Project, make_project
from tests.loop.fixtures.loop_commands import MAKES_FILE, ONE_TASK, TWO_TASKS, receipt_of, run_plan
from tests.sizes import SIZES
from tests.workspace.fixtures.repositories import read_tree

# Counts the commands of git, and kills the program that started the chosen one: before it, or after it.
WRAPPER = """#!/bin/sh
echo >> "$COUNTED"
number=$(wc -l < "$COUNTED")
test "$number" -eq "$KILL_BEFORE" && kill -9 $PPID && exit 1
test "$number" -eq "$KILL_AFTER" && {{ {git} "$@"; kill -9 $PPID; exit 1; }}
exec {git} "$@"
"""
LINES = "1\n2\n3\n4\n5\n"
NAMES = ("edited", "both", "deleted", "moved", "forgotten", "program")
# The agent of the first task destroys git's files, those that it can write to.
AGENT = f"""
{MAKES_FILE}
for name in ("HEAD", "index", "packed-refs") if task == "One" else ():
    if os.access(".git/" + name, os.W_OK):
        open(".git/" + name, "w").write("garbage\\n")
"""
WORK = ("one", "two")


def make_dirty(here: Project) -> None:
    """Change files in every way: edited, deleted, staged, both, renamed, marked, executable, private."""
    folder = here.folder
    (folder / "edited").write_text(LINES + "user\n")
    (folder / "both").write_text("staged\n")
    (folder / "new").write_text("new\n")
    here.git("add", "both", "new")
    (folder / "both").write_text("staged\nand not\n")
    (folder / "deleted").unlink()
    here.git("mv", "moved", "elsewhere")
    here.git("rm", "-q", "--cached", "forgotten")
    (folder / "program").chmod(0o755)
    (folder / "edited").chmod(0o600)
    (folder / "marked").write_text("later\n")
    here.git("add", "-N", "marked")
    (folder / "untracked").write_text("notes\n")


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


@dataclass(frozen=True)
class KilledCommand:
    """A command of Bridle that is killed again and again, each time in a fresh copy of the same repository."""

    here: Project
    words: tuple[str, ...]
    beside: Path

    def prepare(self) -> None:
        """Keep the repository as it is now for `run`, and count the commands of git from now on."""
        shutil.copytree(self.here.folder, self.beside / "start", symlinks=True)
        (self.beside / "bin").mkdir()
        (self.beside / "bin/git").write_text(WRAPPER.format(git=shutil.which("git")))
        (self.beside / "bin/git").chmod(0o755)

    def run(self, point: int | None) -> int:
        """Run the command, killed at that point if there is one; return how many points there are."""
        shutil.rmtree(self.here.folder)
        shutil.copytree(self.beside / "start", self.here.folder, symlinks=True)
        counted = self.beside / "counted"
        counted.unlink(missing_ok=True)
        number = 0 if point is None else point // 2 + 1
        kills = {"KILL_BEFORE": 0, "KILL_AFTER": 0} | {("KILL_AFTER" if (point or 0) % 2 else "KILL_BEFORE"): number}
        done = self.here.bridle(
            *self.words,
            **{name: str(number) for name, number in kills.items()},
            COUNTED=str(counted),
            PATH=f"{self.beside / 'bin'}:{os.environ['PATH']}",
        )
        # The number of commands differs a little from run to run: the last points may come too late.
        assert done.returncode in ((0,) if point is None else (-9, 0)), (point, done)
        return 2 * len(counted.read_text().splitlines())


def start_run(here: Project) -> tuple[str, ...]:
    return ("run", "PLAN.md", "--json", "--allow-dirty")


def pause_run(here: Project) -> tuple[str, ...]:
    """Run one iteration, and let the user work until the next driver."""
    run_plan(here, 3, "--allow-dirty", "--max-iterations", "1")
    work_beside(here)
    return ("resume", "--json", "--max-iterations", "9")


def chosen_points(total: int) -> list[int]:
    """Return all points, or some from where changes are put aside to where they are restored."""
    count = SIZES.git_kills
    if count >= total:
        return list(range(total))
    return [total // 6 + number * (total * 2 // 3) // (count - 1) for number in range(count)]


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

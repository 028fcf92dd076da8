"""A run belongs to the repository that its folder is in: moved or copied with it, it goes on there and only there."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

from tests.loop.fixtures.fake_agent import Project, make_project
from tests.loop.fixtures.loop_commands import (
    MAKES_FILE,
    TWO_TASKS,
    assert_replays,
    receipt_of,
    run_plan,
    verdicts,
    working_copy_state,
)

DONE = {"One": "done", "Two": "done"}


def half_done(tmp_path: Path, *options: str) -> Project:
    """A run whose first task is done."""
    here = make_project(tmp_path, TWO_TASKS, MAKES_FILE)
    run_plan(here, 3, "--max-iterations", "1", *options)
    return here


def resume(here: Project) -> tuple[dict[str, object], str]:
    done = here.bridle("resume", "--max-iterations", "9", "--json")
    return receipt_of(done, 0), done.stderr


def test_a_renamed_repository_keeps_its_run(tmp_path: Path) -> None:
    old = half_done(tmp_path)
    here = replace(old, folder=tmp_path / "renamed")
    old.folder.rename(here.folder)
    document, said = resume(here)
    assert verdicts(document) == DONE
    assert f"bridle: {here.folder} was {old.folder}, where this run began; it continues in {here.folder}" in said
    assert not old.folder.exists()
    assert here.git("log", "--format=%s", "main..HEAD").splitlines() == ["Two", "One"]
    assert_replays(here)


def test_a_copy_of_a_repository_goes_on_by_itself(tmp_path: Path) -> None:
    original = half_done(tmp_path)
    here = replace(original, folder=tmp_path / "copy")
    shutil.copytree(original.folder, here.folder, symlinks=True)
    before = working_copy_state(original), original.git("for-each-ref")
    document, said = resume(here)
    assert verdicts(document) == DONE
    assert f"{here.folder} is a copy of {original.folder}" in said
    assert (working_copy_state(original), original.git("for-each-ref")) == before
    document, said = resume(original)
    assert verdicts(document) == DONE
    assert "copy" not in said


def test_the_worktrees_of_a_copied_repository_are_those_of_the_copy(tmp_path: Path) -> None:
    original = half_done(tmp_path, "--worktree")
    here = replace(original, folder=tmp_path / "a copy")
    shutil.copytree(original.folder, here.folder, symlinks=True)
    before = original.git("for-each-ref"), original.git("worktree", "list", "--porcelain")
    document, _ = resume(here)
    assert verdicts(document) == DONE
    assert (original.git("for-each-ref"), original.git("worktree", "list", "--porcelain")) == before
    worktree = Path(str(document["worktree"]))
    assert worktree.is_relative_to(here.folder)
    assert (worktree / "two").exists()
    shown = json.loads(here.bridle("status", "--json").stdout)
    assert shown["worktree"] == str(worktree)
    assert_replays(here)
    assert here.bridle("undo", "--yes").returncode == 0
    assert not worktree.exists()
    assert (original.git("for-each-ref"), original.git("worktree", "list", "--porcelain")) == before


def test_a_run_whose_repository_is_gone_is_refused(tmp_path: Path) -> None:
    here = make_project(tmp_path, TWO_TASKS, MAKES_FILE)
    runs = {"BABYSITTER_RUNS_DIR": str(tmp_path / "runs")}
    here.bridle("run", "PLAN.md", "--max-iterations", "1", **runs)
    here.folder.rename(tmp_path / "elsewhere")
    done = replace(here, folder=tmp_path / "elsewhere").bridle("resume", "--max-iterations", "9", **runs)
    assert done.returncode == 2, done.stderr
    assert f"{here.folder}, where this run works, does not exist any more" in done.stderr
    assert not here.folder.exists()

"""Nested repositories of agents that work side by side arrive whole, or are kept whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from bridle.engine.drive.nested_work import find_blocked
from tests.engine.fixtures.driven_runs import worktrees
from tests.engine.fixtures.killed_drivers import killed_at
from tests.engine.fixtures.two_agents import two
from tests.workspace.fixtures.repositories import git, read_tree, write

COMMIT = "git -c user.name=a -c user.email=a@a commit -q -m inner"
NESTED = f"git init -q inner; cd inner; echo 1 > one; git add one; {COMMIT}; echo 2 > two; cd .."
WITHOUT_COMMIT = "git init -q sub/unborn; echo 3 > sub/unborn/three"


def test_nested_repositories_arrive_with_their_commits_and_files(tmp_path: Path) -> None:
    driven = two(tmp_path, f"$ {NESTED}; {WITHOUT_COMMIT}; echo x > x # first", "$ echo y > y # second")
    assert driven.drive().status == "completed"
    assert driven.output() == ["done as told", "done as told"]
    assert git(driven.folder / "inner", "log", "--format=%s") == "inner\n"
    assert git(driven.folder / "inner", "status", "--porcelain") == "?? two\n"
    assert (driven.folder / "sub/unborn/three").read_text() == "3\n"
    assert {"x", "y"} <= set(read_tree(driven.folder))
    assert not (driven.folder / ".ralph/kept").exists()


def test_nested_repositories_in_one_place_are_a_conflict_and_the_second_is_kept(tmp_path: Path) -> None:
    driven = two(
        tmp_path,
        f"$ {NESTED}; echo first > inner/who # first",
        f"$ {NESTED}; git -C inner add two; echo second > inner/who; echo y > y # second",
    )
    assert driven.drive().status == "completed"
    ((name, data),) = [one for one in driven.output() if one != "done as told"]
    assert (name, data["conflicts"]) == ("WorkspaceConflict", ["inner"])
    kept = Path(data["workspace"]["folder"])
    assert data["workspace"]["nested"] == ["inner"]
    texts = {(folder / "inner/who").read_text() for folder in (kept, driven.folder)}
    assert texts == {"first\n", "second\n"}
    assert git(kept / "inner", "log", "--format=%s") == "inner\n"
    assert "kept" not in git(driven.folder, "status", "--porcelain")


def test_nested_repositories_of_a_failed_agent_are_kept(tmp_path: Path) -> None:
    driven = two(tmp_path, f"$ {WITHOUT_COMMIT}; exit 1 # first", "$ true # second")
    assert driven.drive().status == "completed"
    (name, data), other = driven.output()
    assert (name, other) == ("AgentFailed", "done as told")
    assert data["workspace"]["nested"] == ["sub/unborn"]
    assert (Path(data["workspace"]["folder"]) / "sub/unborn/three").read_text() == "3\n"
    assert not (driven.folder / "sub/unborn").exists()


@pytest.mark.parametrize(
    "point", ["entry BRIDLE_EFFECT_JOINING", "kept BRIDLE_EFFECT_JOINING", "entry EFFECT_RESOLVED"]
)
def test_nested_repositories_arrive_once_after_a_kill(tmp_path: Path, point: str) -> None:
    driven = two(tmp_path, f"$ {NESTED}; {WITHOUT_COMMIT} # first", "$ echo y > y; git init -q other # second")
    killed_at(driven, point)
    for name in ("inner", "sub/unborn", "other"):  # git may have been killed after it had made them
        (driven.folder / name).mkdir(exist_ok=True)
    assert driven.drive().status == "completed"
    assert driven.output() == ["done as told", "done as told"]
    assert git(driven.folder / "inner", "status", "--porcelain") == "?? two\n"
    assert (driven.folder / "sub/unborn/three").exists()
    assert (driven.folder / "other/.git/HEAD").exists()
    assert worktrees(driven.folder) == []
    assert not (driven.folder / ".ralph/kept").exists()


def test_only_free_places_and_empty_folders_are_not_blocked(tmp_path: Path) -> None:
    write(tmp_path, {"file": "1", "full/file": "1"})
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to("full")
    names = ["empty", "new/place", "file", "full", "link", "link/below"]
    assert find_blocked(tmp_path, names) == ["file", "full", "link", "link/below"]

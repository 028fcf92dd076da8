"""Where a working copy and its git folder are."""

from __future__ import annotations

from pathlib import Path

import pytest

from bridle.ground.git_folder import common_folder, find_common_folder, folders_up_to_top, git_folder, repository_top
from tests.workspace.fixtures.repositories import git, make_repository


def test_a_worktree_has_its_own_git_folder_and_shares_the_common_one(tmp_path: Path) -> None:
    main = make_repository(tmp_path / "main").folder
    tree = tmp_path / "tree"
    git(main, "worktree", "add", "-q", str(tree))
    own = git_folder(tree)
    assert own == git(tree, "rev-parse", "--absolute-git-dir").strip()
    assert git_folder(main) == f"{main}/.git"
    assert Path(common_folder(own)).resolve() == (main / ".git").resolve()
    assert common_folder(f"{main}/.git") == f"{main}/.git"
    (tree / "deep").mkdir()
    assert {find_common_folder(folder) for folder in (main, main / "sub", tree, tree / "deep")} == {
        (main / ".git").resolve()
    }


def test_a_git_file_may_name_a_relative_path(tmp_path: Path) -> None:
    module = tmp_path / "module"
    module.mkdir()
    (tmp_path / "real").mkdir()
    (module / ".git").write_text("gitdir: ../real\n", "utf-8")
    found = git_folder(module)
    assert found is not None
    assert Path(found).resolve() == tmp_path / "real"
    assert find_common_folder(module) == tmp_path / "real"


@pytest.mark.parametrize("text", ["", "gitdir:", "something else\n", "gitdir: a\ngitdir: b\n", "gitdir: nowhere\n"])
def test_a_damaged_git_file_leads_nowhere(text: str, tmp_path: Path) -> None:
    (tmp_path / ".git").write_text(text, "utf-8")
    assert find_common_folder(tmp_path) is None


def test_the_top_is_found_from_below_and_nowhere_outside(tmp_path: Path) -> None:
    below = tmp_path / "top" / "a" / "b"
    below.mkdir(parents=True)
    assert repository_top(below) is None
    assert folders_up_to_top(below) == [below]
    (tmp_path / "top" / ".git").mkdir()
    assert repository_top(below) == tmp_path / "top"
    assert folders_up_to_top(below) == [below, tmp_path / "top" / "a", tmp_path / "top"]
    assert folders_up_to_top(tmp_path / "top") == [tmp_path / "top"]

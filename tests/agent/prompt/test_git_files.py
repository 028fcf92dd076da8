"""What a repository tells by its own files."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from bridle.agent.prompt import git_files

LIMIT_SECONDS = 60


@pytest.mark.parametrize(
    ("head", "branch"),
    [
        ("ref: refs/heads/main\n", "main"),
        ("ref: refs/heads/feature/x\n", "feature/x"),
        ("2c1d0f6f0c1c6b6fbb0f5ed5a2f6b9a9c3d4e5f6\n", "HEAD"),
        ("", "HEAD"),
    ],
)
def test_the_branch_is_read_without_git(head: str, branch: str, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text(head, "utf-8")
    (tmp_path / "src").mkdir()
    assert git_files.current_branch(tmp_path / "src") == branch


def test_a_worktree_has_a_branch_of_its_own(tmp_path: Path) -> None:
    top = tmp_path / "top"
    for argv in (
        ["git", "init", "-q", "-b", "main", str(top)],
        ["git", "-C", str(top), "-c", "user.name=n", "-c", "user.email=e", "commit", "-q", "--allow-empty", "-m", "x"],
        ["git", "-C", str(top), "worktree", "add", "-q", "-b", "other", str(tmp_path / "tree")],
    ):
        subprocess.run(argv, check=True, timeout=LIMIT_SECONDS)
    assert (git_files.current_branch(top), git_files.current_branch(tmp_path / "tree")) == ("main", "other")


def test_a_folder_outside_of_any_repository_has_no_branch(tmp_path: Path) -> None:
    assert git_files.current_branch(tmp_path) == "HEAD"


def test_a_branch_is_known_also_where_git_has_packed_it_away(tmp_path: Path) -> None:
    for arguments in (
        ["init", "-q", "-b", "master"],
        ["-c", "user.name=n", "-c", "user.email=e", "commit", "-q", "--allow-empty", "-m", "x"],
        ["checkout", "-q", "-b", "other"],
        ["pack-refs", "--all"],
    ):
        subprocess.run(["git", "-C", str(tmp_path), *arguments], check=True, timeout=LIMIT_SECONDS)
    assert not (tmp_path / ".git/refs/heads/master").exists()
    assert (git_files.current_branch(tmp_path), git_files.main_branch(tmp_path)) == ("other", "master")

"""Files of git that it cannot read are restored to their last readable content, or named with what to do."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

import pytest

from bridle.errors import GitError, UsageError
from bridle.workspace.git import Git
from bridle.workspace.git_folder import damaged_files
from tests.workspace.fixtures.repositories import git, make_repository

NAMES = ("HEAD", "index", "packed-refs", "refs/heads/main", "refs/bridle/snapshots/one", "worktrees/w/HEAD")


def make(tmp_path: Path) -> Path:
    """Create a repository with every such file; it has a broken tag of its own."""
    folder = make_repository(tmp_path / "r").folder
    git(folder, "tag", "one")
    git(folder, "pack-refs", "--all")
    git(folder, "worktree", "add", "-q", "--detach", str(tmp_path / "w"))
    git(folder, "commit", "-q", "--allow-empty", "-m", "two")
    git(folder, "update-ref", "refs/bridle/snapshots/one", "HEAD")
    (folder / ".git/refs/tags/broken").write_text("of the user\n")
    return folder


def test_files_that_git_cannot_read_get_their_last_readable_content(tmp_path: Path) -> None:
    folder = make(tmp_path)
    assert damaged_files.restore(folder) == []  # nothing is known yet
    damaged_files.remember(folder)
    before = {name: (folder / ".git" / name).read_bytes() for name in NAMES}
    for name in NAMES:
        (folder / ".git" / name).unlink()
        if name != "packed-refs":  # without it the packed refs are gone
            (folder / ".git" / name).write_text("garbage\n")
        damaged_files.remember(folder)
    (folder / ".git/refs/heads/added").write_bytes(b"")
    assert damaged_files.restore(tmp_path / "w") == sorted([*NAMES, "refs/heads/added"])
    assert {name: (folder / ".git" / name).read_bytes() for name in NAMES} == before
    assert not (folder / ".git/refs/heads/added").exists()
    assert (folder / ".git/refs/tags/broken").read_text() == "of the user\n"
    assert damaged_files.restore(folder) == []


def test_what_was_readable_when_others_were_restored_is_kept_too(tmp_path: Path) -> None:
    folder = make(tmp_path)
    damaged_files.remember(folder)
    git(folder, "update-ref", "refs/bridle/snapshots/two", "HEAD")
    second = folder / ".git/refs/bridle/snapshots/two"
    content = second.read_bytes()
    (folder / ".git/HEAD").write_text("garbage\n")
    assert damaged_files.restore(folder) == ["HEAD"]
    second.write_text("garbage\n")
    assert damaged_files.restore(folder) == ["refs/bridle/snapshots/two"]
    assert second.read_bytes() == content


def test_a_branch_gets_the_last_commit_of_its_reflog(tmp_path: Path) -> None:
    folder = make(tmp_path)
    damaged_files.remember(folder)
    git(folder, "commit", "-q", "--allow-empty", "-m", "three")
    commit = git(folder, "rev-parse", "HEAD")
    (folder / ".git/refs/heads/main").write_text("garbage\n")
    assert damaged_files.restore(folder) == ["refs/heads/main"]
    assert git(folder, "rev-parse", "HEAD") == commit


@pytest.mark.parametrize("name", ["HEAD", "index", "packed-refs", "refs/heads/main"])
def test_the_damaged_file_is_named_with_a_remedy_that_works(tmp_path: Path, name: str) -> None:
    folder = make(tmp_path)
    damaged_files.refuse(folder, then="again")
    path, before = folder / ".git" / name, git(folder, "rev-parse", "HEAD", "one")
    path.write_text("garbage\n")
    with pytest.raises(UsageError) as refused:
        damaged_files.refuse(folder, then="again")
    assert refused.value.message == f"{path} is damaged: git cannot read it"
    remedy = refused.value.remedy or ""
    assert remedy.endswith(" Then run: again")
    with pytest.raises(GitError, match="is damaged: git cannot read it"):
        asyncio.run(Git(folder).run("log" if name.startswith("refs") else "status"))
    command = remedy.removesuffix(" Then run: again").partition(": ")[2].rstrip(".").replace("NAME", "main")
    if name != "packed-refs":
        subprocess.run(["sh", "-c", command], check=True, timeout=60)
        damaged_files.refuse(folder, then="again")
        assert git(folder, "rev-parse", "HEAD", "one") == before


def test_a_repository_without_a_readable_head_is_not_called_a_folder_without_one(tmp_path: Path) -> None:
    folder = make(tmp_path)
    (folder / ".git/HEAD").unlink()
    (folder / "inside").mkdir()
    with pytest.raises(UsageError, match=r"\.git/HEAD is missing"):
        asyncio.run(Git(folder / "inside").top())


def test_of_many_refs_of_bridle_the_newest_are_looked_at_and_the_others_in_turn(tmp_path: Path) -> None:
    folder = make(tmp_path)
    commit = git(folder, "rev-parse", "HEAD")
    snapshots = folder / ".git/refs/bridle/snapshots"
    names = [f"refs/bridle/snapshots/{number:03}" for number in range(300)]
    for name in names:
        (folder / ".git" / name).write_text(f"{commit}\n")
    damaged_files.remember(folder)
    (snapshots / "newest").write_text(f"{commit}\n")
    damaged_files.remember(folder)
    for name in (*names, "refs/bridle/snapshots/newest"):
        (folder / ".git" / name).write_text("garbage\n")
    (snapshots / "added").write_text("garbage\n")
    first = damaged_files.restore(folder)
    assert {"refs/bridle/snapshots/newest", "refs/bridle/snapshots/added"} <= set(first)
    assert len(first) < len(names)
    restored = set(first)
    for _ in range(5):
        restored |= set(damaged_files.restore(folder))
    assert restored >= set(names)
    assert {(folder / ".git" / name).read_text() for name in names} == {f"{commit}\n"}
    assert not (snapshots / "added").exists()


def test_all_refs_of_bridle_are_looked_at_where_a_driver_ends(tmp_path: Path) -> None:
    folder = make(tmp_path)
    commit = git(folder, "rev-parse", "HEAD")
    names = [f"refs/bridle/snapshots/{number:03}" for number in range(300)]
    for name in names:
        (folder / ".git" / name).write_text(f"{commit}\n")
    damaged_files.remember(folder)
    for name in names:
        (folder / ".git" / name).write_text("garbage\n")
    assert damaged_files.restore(folder, looks_at_all=True) == names
    assert damaged_files.restore(folder, looks_at_all=True) == []

"""Commits whose changes do not overlap are merged without git, and all others by git: the tree is the same."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bridle.workspace.git import Git
from bridle.workspace.merge import Conflicts, merged_tree
from tests.workspace.fixtures.repositories import git, make_repository, trace_git, write


def _commit(repo: Git, start: str, files: dict[str, str]) -> str:
    """Commit changed files on top of a commit; return the new one."""
    git(repo.folder, "checkout", "-q", "--detach", start)
    write(repo.folder, dict(files))
    git(repo.folder, "add", "-A")
    git(repo.folder, "commit", "-q", "-m", "x")
    return git(repo.folder, "rev-parse", "HEAD").strip()


def _merge(repo: Git, folder: Path, ours: str, theirs: str) -> tuple[str | Conflicts, list[str]]:
    """Return the merge, and the git commands that it started besides those for settings."""
    traced, events = trace_git(repo, folder)
    asyncio.run(traced.settings())
    events.unlink()
    merged = asyncio.run(merged_tree(traced, ours, theirs))
    lines = events.read_text().splitlines() if events.exists() else []
    return merged, [line for line in lines if '"event":"cmd_name"' in line]


def _by_git(repo: Git, ours: str, theirs: str) -> str:
    return git(repo.folder, "merge-tree", "--write-tree", ours, theirs).strip()


def test_changes_of_different_files_are_merged_without_git(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    tip = base = git(repo.folder, "rev-parse", "HEAD").strip()
    for number in range(5):
        tip = _commit(repo, tip, {f"sub/{number}.txt": "landed\n"})
    theirs = _commit(repo, base, {"a.txt": "changed\n", "sub/new.txt": "new\n"})
    assert _merge(repo, tmp_path, tip, theirs) == (_by_git(repo, tip, theirs), [])


def test_a_commit_below_the_other_and_commits_of_several_parents_are_merged_by_git(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    base = git(repo.folder, "rev-parse", "HEAD").strip()
    one, two = _commit(repo, base, {"one": "1"}), _commit(repo, base, {"two": "2"})
    git(repo.folder, "merge", "-q", "--no-ff", "-m", "both", one)
    both = git(repo.folder, "rev-parse", "HEAD").strip()
    (repo.folder / "one").unlink()  # reverts one of them
    write(repo.folder, {"sub/new": "3"})
    git(repo.folder, "add", "-A")
    git(repo.folder, "commit", "-q", "-m", "above")
    above = git(repo.folder, "rev-parse", "HEAD").strip()
    for ours, theirs in ((above, one), (above, two), (above, both), (one, above), (one, one)):
        merged, started = _merge(repo, tmp_path, ours, theirs)
        assert merged == _by_git(repo, ours, theirs)
        assert len(started) == 1


def test_a_change_that_was_reverted_since_is_not_lost(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    base = git(repo.folder, "rev-parse", "HEAD").strip()
    changed = _commit(repo, base, {"a.txt": "changed\n"})
    reverted = _commit(repo, changed, {"a.txt": "one\n"})
    assert _merge(repo, tmp_path, reverted, changed)[0] == _by_git(repo, reverted, changed)
    again = _commit(repo, base, {"a.txt": "changed\n", "b.txt": "b\n"})
    assert _merge(repo, tmp_path, reverted, again) == (_by_git(repo, reverted, again), [])


def test_a_conflict_is_that_of_git(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    base = git(repo.folder, "rev-parse", "HEAD").strip()
    ours, theirs = (_commit(repo, base, {"a.txt": text}) for text in ("ours\n", "theirs\n"))
    merged, _ = _merge(repo, tmp_path, ours, theirs)
    assert isinstance(merged, Conflicts)
    assert merged.paths == ("a.txt",)


@pytest.mark.parametrize("value", ["group", "false"])
def test_in_a_shared_repository_git_merges(tmp_path: Path, value: str) -> None:
    repo = make_repository(tmp_path / "r")
    git(repo.folder, "config", "core.sharedRepository", value)
    base = git(repo.folder, "rev-parse", "HEAD").strip()
    ours, theirs = _commit(repo, base, {"ours": "1"}), _commit(repo, base, {"theirs": "2"})
    merged, started = _merge(repo, tmp_path, ours, theirs)
    assert merged == _by_git(repo, ours, theirs)
    assert len(started) == (value == "group")

"""Locks of a killed git are removed; those that a running git may hold are left alone."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bridle.loop.working_copy import stale_git_locks
from tests.workspace.fixtures.repositories import git


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stale_git_locks, "WAIT_SECONDS", 0.0)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "repository"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    return folder


@contextmanager
def running_git(cwd: Path) -> Iterator[None]:
    """Run a process with the name of git in a folder, such as one that waits for an editor."""
    program = cwd.parent / "bin" / "git"
    program.parent.mkdir(exist_ok=True)
    shutil.copy(shutil.which("sleep") or "/bin/sleep", program)
    with subprocess.Popen([program, "600"], cwd=cwd) as process:
        try:
            yield
        finally:
            process.kill()


def clear(folder: Path, *, among_snapshots: bool = False) -> list[str]:
    return asyncio.run(stale_git_locks.clear(folder, among_snapshots=among_snapshots))


def lock(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


def test_locks_of_the_index_and_of_our_refs_are_removed(repository: Path) -> None:
    for name in ("index.lock", "packed-refs.lock", "refs/heads/bridle/run.lock", "refs/bridle/kept/x.lock"):
        lock(repository / ".git" / name)
    assert clear(repository) == ["index.lock", "packed-refs.lock", "run.lock", "x.lock"]
    assert clear(repository) == []


def test_locks_of_other_refs_stay(repository: Path) -> None:
    other = lock(repository / ".git" / "refs" / "heads" / "main.lock")
    assert clear(repository) == []
    assert other.exists()


def test_snapshots_are_searched_only_when_asked(repository: Path) -> None:
    snapshot = lock(repository / ".git" / "refs" / "bridle" / "snapshots" / "1.lock")
    assert clear(repository) == []
    assert snapshot.exists()
    assert clear(repository, among_snapshots=True) == ["1.lock"]


def test_a_running_git_keeps_its_lock(repository: Path) -> None:
    held = lock(repository / ".git" / "index.lock")
    (repository / "src").mkdir()
    with running_git(repository / "src"):
        assert clear(repository) == []
    assert held.exists()


def test_a_git_of_another_repository_does_not_count(repository: Path, tmp_path: Path) -> None:
    lock(repository / ".git" / "index.lock")
    elsewhere = tmp_path / "elsewhere" / "repository"
    elsewhere.mkdir(parents=True)
    with running_git(elsewhere):
        assert clear(repository) == ["index.lock"]


def test_a_lock_of_the_users_working_copy_stays_while_git_runs_there(repository: Path) -> None:
    """A worker's worktree shares the git folder with the user's working copy."""
    worktree = repository / ".git" / "bridle-worktrees" / "w1"
    git(repository, "worktree", "add", "-q", "--detach", str(worktree))
    held = lock(repository / ".git" / "index.lock")
    with running_git(repository):
        assert clear(worktree) == []
    assert held.exists()


def test_the_locks_of_a_worktree_are_its_own_and_the_common_ones(repository: Path, tmp_path: Path) -> None:
    worktree = tmp_path.resolve() / "w1"
    git(repository, "worktree", "add", "-q", "--detach", str(worktree))
    lock(repository / ".git" / "worktrees" / "w1" / "HEAD.lock")
    lock(repository / ".git" / "config.lock")
    assert clear(worktree) == ["HEAD.lock", "config.lock"]


def test_a_git_in_another_worktree_keeps_only_the_common_locks(repository: Path, tmp_path: Path) -> None:
    worktree = tmp_path.resolve() / "beside"
    git(repository, "worktree", "add", "-q", "--detach", str(worktree))
    own, common = (lock(repository / ".git" / name) for name in ("worktrees/beside/index.lock", "packed-refs.lock"))
    with running_git(worktree):
        assert clear(worktree) == []
    with running_git(repository):
        assert clear(worktree) == ["index.lock"]
    assert not own.exists()
    assert common.exists()


def test_outside_of_a_repository_there_are_no_locks(tmp_path: Path) -> None:
    assert clear(tmp_path) == []

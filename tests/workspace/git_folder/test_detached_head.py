"""The HEAD of a worktree is moved as git would move it, or not at all."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bridle.workspace.git import Git
from bridle.workspace.git_folder.move_head import Move, move_detached_head
from bridle.workspace.git_folder.read_git_files import NeedsGit
from tests.workspace.fixtures.repositories import git, make_repository, trace_git

COMMITTER = "Ada <ada@example.com> 1790000000 +0100"


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A worktree with a detached HEAD, and a second commit that it is not at."""
    repo = make_repository(tmp_path / "r")
    for name, value in (("user.name", "Ada"), ("user.email", "ada@example.com")):
        git(repo.folder, "config", name, value)
    git(repo.folder, "worktree", "add", "-q", "--detach", str(tmp_path / "w"))
    git(repo.folder, "commit", "-q", "--allow-empty", "-m", "second")
    return tmp_path / "w"


def _ids(top: Path) -> tuple[str, str]:
    return git(top, "rev-parse", "main^").strip(), git(top, "rev-parse", "main").strip()


def _own(top: Path) -> Path:
    return Path(git(top, "rev-parse", "--absolute-git-dir").strip())


def test_head_and_its_reflog_are_as_git_writes_them(top: Path) -> None:
    first, second = _ids(top)
    move_detached_head(top, Move(second, COMMITTER, "a\nreason  of  ours "), old=first)
    move_detached_head(top, Move(first, COMMITTER, "back"), old=None)
    assert git(top, "rev-parse", "HEAD").strip() == first
    written = (_own(top) / "logs/HEAD").read_bytes().splitlines()
    variables = {"GIT_COMMITTER_DATE": "1790000000 +0100"}
    asyncio.run(
        Git(top).run("update-ref", "--no-deref", "-m", "a\nreason  of  ours ", "HEAD", second, variables=variables)
    )
    asyncio.run(Git(top).run("update-ref", "--no-deref", "-m", "back", "HEAD", first, variables=variables))
    assert (_own(top) / "logs/HEAD").read_bytes().splitlines()[len(written) :] == written[-2:]
    assert git(top, "reflog", "show", "--format=%gs", "HEAD").splitlines()[:2] == ["back", "a reason of ours"]
    assert not (_own(top) / "HEAD.lock").exists()


def test_a_move_starts_no_git_but_for_settings(top: Path, tmp_path: Path) -> None:
    repo, events = trace_git(Git(top), tmp_path)
    asyncio.run(repo.settings())
    before = events.read_text().count('"event":"start"')
    asyncio.run(repo.move_head(_ids(top)[1], "why"))
    assert events.read_text().count('"event":"start"') == before
    assert git(top, "rev-parse", "HEAD").strip() == _ids(top)[1]


def test_another_head_than_expected_a_lock_or_an_odd_reflog_change_nothing(top: Path, tmp_path: Path) -> None:
    first, second = _ids(top)
    log, head = _own(top) / "logs/HEAD", _own(top) / "HEAD"

    def refuses(folder: Path = top, commit: str = second, old: str | None = first) -> None:
        before = head.read_bytes(), log.read_bytes() if log.is_file() else None
        with pytest.raises(NeedsGit):
            move_detached_head(folder, Move(commit, COMMITTER, "why"), old=old)
        assert (head.read_bytes(), log.read_bytes() if log.is_file() else None) == before

    refuses(old=second)
    refuses(commit="main")
    git(tmp_path / "r", "checkout", "-q", "--detach")
    refuses(folder=tmp_path / "r", old=None)  # not a worktree of Bridle's
    (_own(top) / "HEAD.lock").touch()
    refuses()
    assert (_own(top) / "HEAD.lock").exists()
    (_own(top) / "HEAD.lock").unlink()
    outside = tmp_path / "outside"
    log.rename(outside)
    refuses()
    log.symlink_to(outside)
    refuses()
    log.unlink()
    log.hardlink_to(outside)
    refuses()
    assert b"why" not in outside.read_bytes()
    head.write_text("ref: refs/heads/main\n")
    refuses(old=None)
    assert not (_own(top) / "HEAD.lock").exists()

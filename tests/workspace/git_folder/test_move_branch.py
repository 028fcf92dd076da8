"""The branch of a run moves as `git update-ref` moves it, with both reflogs; else nothing is changed."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from bridle.workspace.git import Git
from bridle.workspace.git_folder.move_head import Move, move_branch
from bridle.workspace.git_folder.read_git_files import NeedsGit
from tests.workspace.fixtures.repositories import git, make_repository, trace_git

WHO = "Some One <one@localhost> 1700000000 +0200"


def _on_branch_of_run(folder: Path) -> Path:
    folder = make_repository(folder).folder
    git(folder, "checkout", "-q", "-b", "bridle/run")
    return folder


def _ids(folder: Path) -> tuple[str, str]:
    old = git(folder, "rev-parse", "HEAD").strip()
    return old, git(folder, "commit-tree", "-p", old, "-m", "second", f"{old}^{{tree}}").strip()


def test_the_branch_and_both_reflogs_are_those_that_git_writes(tmp_path: Path) -> None:
    folder = _on_branch_of_run(tmp_path / "r")
    old, new = _ids(folder)
    before = {name: (folder / ".git/logs" / name).read_text() for name in ("HEAD", "refs/heads/bridle/run")}
    move_branch(folder, "refs/heads/bridle/run", Move(new, WHO, "commit:  second\n "), old=old)
    assert git(folder, "rev-parse", "HEAD").strip() == new
    line = f"{old} {new} {WHO}\tcommit: second\n"
    assert {name: (folder / ".git/logs" / name).read_text() for name in before} == {
        name: text + line for name, text in before.items()
    }
    assert git(folder, "reflog", "-1", "--format=%H %gs").strip() == f"{new} commit: second"
    assert not list((folder / ".git").rglob("*.lock"))


@pytest.mark.parametrize(
    "why",
    [" two\t \r\nwords ", "\u65e5\u672c\u3000\u8a9e", "no\xa0\xa0break", "\x0b\x0c\x1c\x85 x", "\udcff", "  "],
    ids=["blanks", "wide space", "no-break space", "other controls", "no text", "only blanks"],
)
def test_the_message_of_a_reflog_has_the_bytes_that_git_writes(tmp_path: Path, why: str) -> None:
    lines = []
    for name in ("ours", "git's"):
        folder = _on_branch_of_run(tmp_path / name)
        old, new = _ids(folder)
        if name == "ours":
            move_branch(folder, "refs/heads/bridle/run", Move(new, WHO, why), old=old)
        else:
            git(folder, "update-ref", "-m", os.fsdecode(os.fsencode(why)), "refs/heads/bridle/run", new, old)
        logs = [(folder / ".git/logs" / log).read_bytes() for log in ("HEAD", "refs/heads/bridle/run")]
        lines.append([log.splitlines(keepends=True)[-1].partition(b" +0")[2][3:] for log in logs])
    assert lines[0] == lines[1]


def test_a_worktree_has_its_own_reflog_of_head(tmp_path: Path) -> None:
    main = make_repository(tmp_path / "r").folder
    folder = tmp_path / "worktree"
    git(main, "worktree", "add", "-q", "-b", "bridle/other", str(folder))
    old, new = _ids(folder)
    of_main = (main / ".git/logs/HEAD").read_text()
    move_branch(folder, "refs/heads/bridle/other", Move(new, WHO, "why"), old=old)
    assert git(folder, "rev-parse", "HEAD").strip() == new
    assert git(folder, "reflog", "-1", "--format=%H %gs").strip() == f"{new} why"
    assert (main / ".git/logs/HEAD").read_text() == of_main


@pytest.mark.parametrize(
    "case",
    ["other commit", "locked", "packed", "no reflog", "link", "hard link", "no object", "another branch", "detached"],
)
def test_where_git_decides_nothing_is_changed(tmp_path: Path, case: str) -> None:
    folder = _on_branch_of_run(tmp_path / "r")
    old, new = _ids(folder)
    ref, log, name = folder / ".git/refs/heads/bridle/run", folder / ".git/logs/HEAD", "refs/heads/bridle/run"
    expected = old
    match case:
        case "other commit":
            expected = new
        case "locked":
            ref.with_name("run.lock").touch()
        case "packed":
            git(folder, "pack-refs", "--all")
        case "no reflog":
            log.unlink()
        case "link":
            log.rename(tmp_path / "log")
            log.symlink_to(tmp_path / "log")
        case "hard link":
            (tmp_path / "log").hardlink_to(log)
        case "no object":
            new = "1" * 40
        case "another branch":
            git(folder, "checkout", "-q", "main")
            name = "refs/heads/main"
        case _:
            name = "HEAD"
    logs = {path: path.read_bytes() for path in (folder / ".git/logs").rglob("*") if path.is_file()}
    with pytest.raises(NeedsGit):
        move_branch(folder, name, Move(new, WHO, "why"), old=expected)
    assert git(folder, "rev-parse", "HEAD").strip() == old
    assert {path: path.read_bytes() for path in logs} == logs
    assert [path.name for path in (folder / ".git").rglob("*.lock")] == (["run.lock"] if case == "locked" else [])


def test_a_commit_of_bridle_starts_no_git_for_its_branch(tmp_path: Path) -> None:
    repo, events = trace_git(Git(_on_branch_of_run(tmp_path / "r")), tmp_path / "trace")
    git(repo.folder, "config", "user.name", "Some One")
    git(repo.folder, "config", "user.email", "one@localhost")
    old, new = _ids(repo.folder)
    asyncio.run(repo.move_head(new, "why", old=old))
    assert git(repo.folder, "rev-parse", "HEAD").strip() == new
    assert "update-ref" not in events.read_text()

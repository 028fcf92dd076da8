"""Landing moves the branch of the run once, however often it is tried, and never over commits of the user."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bridle.loop.effect_results import LandResult
from bridle.loop.effects import LandArgs, PrepareArgs
from bridle.loop.performers import branch, merge_work
from bridle.loop.performers.merge_work import land
from bridle.loop.working_copy.run_worktrees import check_out
from bridle.workspace import snapshot
from bridle.workspace.git import Git
from bridle.workspace.move_files import move_without_git
from tests.loop.fixtures.repositories import RUN, Repository, make_repository

BRANCH = f"bridle/{RUN}"


@pytest.fixture
def here(tmp_path: Path) -> Repository:
    repository = make_repository(tmp_path / "r", {"a.txt": "1\n"})
    asyncio.run(branch.prepare(PrepareArgs(), repository.context))
    return repository


def commit_on(here: Repository, parent: str, title: str) -> str:
    """Make an empty commit that is on no branch."""
    return here.git("commit-tree", f"{parent}^{{tree}}", "-p", parent, "-m", title).strip()


def test_landing_again_after_a_kill_ends_the_same(here: Repository) -> None:
    tip = here.git("rev-parse", "HEAD").strip()
    args = LandArgs(task="T", iteration=1, commit=commit_on(here, tip, "T"), tip=tip)
    for _ in range(2):
        assert asyncio.run(land(args, here.context)) == LandResult(commit=args.commit, branch=BRANCH)
        assert here.git("rev-parse", BRANCH).strip() == args.commit


def commit_of(here: Repository, files: dict[str, str | bytes]) -> tuple[str, str]:
    """Make a commit with these files, and go back to the one before; return both."""
    tip = here.git("rev-parse", "HEAD").strip()
    here.write(files)
    commit = here.commit()
    here.git("reset", "-q", "--hard", tip)
    return tip, commit


def test_changes_of_the_user_in_other_files_stay_when_work_lands(here: Repository) -> None:
    here.write({"a.txt": "2\n", "new/b.txt": "b\n"})
    here.commit()
    commit, later = commit_of(here, {"a.txt": "3\n"})
    tip = here.git("rev-parse", "HEAD^").strip()
    here.git("reset", "-q", "--hard", tip)
    with (here.folder / ".git/info/exclude").open("a") as rules:
        rules.write("ignored\n")
    here.write({"mine": "untracked\n", "ignored": "i\n", "new/c.txt": "c\n"})
    asyncio.run(land(LandArgs(task="T", iteration=1, commit=commit, tip=tip), here.context))
    assert here.git("rev-parse", BRANCH).strip() == commit
    assert here.git("status", "--porcelain").splitlines() == ["?? mine", "?? new/c.txt"]
    assert here.git("reflog", "-1", "--format=%gs", BRANCH).strip() == f"reset: moving to {commit}"
    here.write({"new/b.txt": "staged\n"})
    here.git("add", "new/b.txt")
    asyncio.run(land(LandArgs(task="T", iteration=2, commit=later, tip=commit), here.context))
    assert here.git("status", "--porcelain").splitlines() == [" M new/b.txt", "?? mine", "?? new/c.txt"]
    assert [here.read(name) for name in ("a.txt", "new/b.txt", "ignored")] == ["3\n", "staged\n", "i\n"]
    assert not any("kept as" in line for line in here.printed)


def test_all_changes_of_the_user_are_kept_where_one_is_in_the_way(here: Repository) -> None:
    here.write({"other": "1\n"})
    here.commit("other")
    tip, commit = commit_of(here, {"a.txt": "2\n", "b.txt": "2\n"})
    here.write({"a.txt": "of the user\n", "other": "of the user too\n"})
    asyncio.run(land(LandArgs(task="T", iteration=1, commit=commit, tip=tip), here.context))
    assert here.git("status", "--porcelain") == ""
    ref = here.printed[-1].rpartition("kept as ")[2]
    assert [here.git("show", f"{ref}:{name}") for name in ("a.txt", "other")] == ["of the user\n", "of the user too\n"]


def test_a_file_that_is_changed_after_the_look_is_kept_when_a_copy_is_moved(here: Repository) -> None:
    tip, commit = commit_of(here, {"a.txt": "2\n"})
    here.git("checkout", "-q", "--detach", tip)
    asyncio.run(snapshot.tree_of_all(here.context.git, as_committed=True))
    here.write({"a.txt": "of another program\n"})
    assert not asyncio.run(check_out(here.context, commit, is_known=True))
    assert (here.git("rev-parse", "HEAD").strip(), here.git("status", "--porcelain")) == (commit, "")
    ref = here.printed[-1].rpartition("kept as ")[2]
    assert here.git("show", f"{ref}:a.txt") == "of another program\n"


def test_a_commit_that_the_user_makes_while_work_lands_stays_on_the_branch(
    here: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    tip, commit = commit_of(here, {"a.txt": "2\n"})
    own: list[str] = []

    async def move_and_commit(git: Git, before: str, after: str) -> bool:
        is_moved = await move_without_git(git, before, after)
        here.write({"mine": "of the user\n"})
        own.append(here.commit("mine"))
        return is_moved

    monkeypatch.setattr(merge_work, "move_without_git", move_and_commit)
    args = LandArgs(task="T", iteration=1, commit=commit, tip=tip)
    assert asyncio.run(land(args, here.context)) == LandResult(branch=BRANCH, newer=own[0])
    assert here.git("rev-parse", BRANCH).strip() == own[0]
    assert here.git("status", "--porcelain") == ""


def test_nothing_lands_over_a_new_commit_of_the_user(here: Repository) -> None:
    tip = here.git("rev-parse", "HEAD").strip()
    own = commit_on(here, tip, "mine")
    here.git("update-ref", f"refs/heads/{BRANCH}", own)
    args = LandArgs(task="T", iteration=1, commit=commit_on(here, tip, "T"), tip=tip)
    assert asyncio.run(land(args, here.context)) == LandResult(branch=BRANCH, newer=own)
    assert here.git("rev-parse", BRANCH).strip() == own

"""The branch of a run: one commit for a task, found again by a second attempt, with the agent's own commits in it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from bridle.errors import GitError, UsageError
from bridle.loop import effects
from bridle.loop.effect_results import CommitResult
from bridle.loop.effects import CommitArgs, PrepareArgs, RollbackArgs
from bridle.loop.performers import branch
from bridle.loop.performers.make_commit import make_commit
from bridle.loop.process.task_state import Verdict
from bridle.loop.working_copy import known_files
from bridle.workspace import snapshot
from bridle.workspace.git_folder.loose_objects import blob_id
from tests.attacks.fixtures.git_forgery import forge_object
from tests.loop.fixtures.repositories import RUN, Repository, make_repository

SECRET = "hunter2hunter2"


@pytest.fixture
def here(tmp_path: Path) -> Repository:
    repository = make_repository(tmp_path / "r", {"a.txt": "1\n"}, environment={"API_TOKEN": SECRET})
    asyncio.run(branch.prepare(PrepareArgs(), repository.context))
    return repository


def commit(here: Repository, task: str = "Parse", iteration: int = 1, **more: Any) -> CommitResult:
    args = CommitArgs(task=task, iteration=iteration, verdict=Verdict.DONE, cost_usd=0.5, checks=2, **more)
    return asyncio.run(make_commit(args, here.context))


def head(here: Repository) -> str:
    return here.git("rev-parse", "HEAD").strip()


def test_a_run_works_on_a_branch_of_its_own(here: Repository) -> None:
    assert here.git("branch", "--show-current").strip() == f"bridle/{RUN}"
    assert here.git("rev-parse", "main").strip() == head(here)


def test_a_second_attempt_finds_the_commit_of_the_first(here: Repository) -> None:
    here.write({"a.txt": "2\n"})
    first = commit(here)
    second = commit(here)
    assert first.commit == second.commit == head(here)
    assert (first.found, second.found) == (False, True)
    assert here.git("rev-list", "--count", "main..HEAD").strip() == "1"


def test_a_secret_in_a_title_is_masked_and_the_commit_is_still_found(here: Repository) -> None:
    here.write({"a.txt": "2\n"})
    title = f"Rotate  {SECRET} now"
    first = commit(here, title)
    assert SECRET not in here.git("log", "-1", "--format=%B")
    second = commit(here, title)
    assert (second.commit, second.found) == (first.commit, True)


def test_the_trailers_say_what_was_verified(here: Repository) -> None:
    here.write({"a.txt": "2\n"})
    commit(here)
    message = here.git("log", "-1", "--format=%B").strip().splitlines()
    assert message[0] == "Parse"
    assert message[2:] == [
        f"Bridle-Run: {RUN}",
        "Bridle-Task: Parse",
        "Bridle-Iteration: 1",
        "Bridle-Cost: 0.5000 USD",
        "Bridle-Checks: 2 passed",
    ]


def test_commits_of_the_agent_become_part_of_the_task(here: Repository) -> None:
    tip = head(here)
    here.write({"b.txt": "b\n"})
    here.git("add", "-A")
    here.git("commit", "-q", "-m", f"own work\n\nBridle-Run: {RUN}\nBridle-Task: Parse\nBridle-Iteration: 9")
    own = head(here)
    here.write({"c.txt": "c\n"})
    done = commit(here, tip=tip)
    assert done.folded == (own,)
    assert here.git("rev-list", "--count", "main..HEAD").strip() == "1"
    assert here.git("ls-tree", "--name-only", "HEAD").split() == ["a.txt", "b.txt", "c.txt"]


def test_files_that_changed_since_the_checks_are_not_committed(here: Repository) -> None:
    here.write({"a.txt": "2\n"})
    before = head(here)
    done = commit(here, tree="0" * 40)
    assert (done.commit, bool(done.again), head(here)) == (None, True, before)


def test_nothing_is_committed_with_an_object_that_was_replaced_since_the_checks(
    here: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known_files, "HANDED_OVER_SECONDS", 600.0)
    here.write({"a.txt": "good\n"})
    before = head(here)
    tree = asyncio.run(snapshot.tree_of_all(here.context.git, as_committed=True))
    known_files.hand_over(here.context, effects.CHECK)
    forge_object(here.folder, blob_id(b"good\n", like=tree), b"EVIL\n")
    with pytest.raises(GitError, match="was replaced"):
        commit(here, tree=tree, tip=before)
    assert head(here) == before


def test_an_agent_that_left_the_branch_is_brought_back_with_its_files(here: Repository) -> None:
    here.git("checkout", "-q", "-b", "other")
    here.write({"a.txt": "2\n"})
    assert commit(here).commit == head(here)
    assert here.git("branch", "--show-current").strip() == f"bridle/{RUN}"
    assert here.git("rev-parse", "other").strip() == here.git("rev-parse", "main").strip()


def test_a_commit_that_an_agent_has_rewritten_is_restored_and_its_own_one_kept(here: Repository) -> None:
    here.write({"a.txt": "2\n"})
    done = commit(here).commit
    here.git("commit", "-q", "--amend", "-m", "mine")
    own = head(here)
    assert asyncio.run(branch.keep_branch(here.context, head=done))
    assert head(here) == done
    assert here.git("rev-parse", f"refs/bridle/kept/{RUN}/moved-{own}").strip() == own
    assert any(own in line for line in here.printed)


def test_a_rollback_keeps_what_it_undoes_and_can_be_repeated(here: Repository) -> None:
    asyncio.run(snapshot.take(here.context.git, name="start", why="test"))
    here.write({"a.txt": "work\n", "new.txt": "n\n"})
    args = RollbackArgs(task="Parse", iteration=1, snapshot="start", why="it failed")
    for _ in range(2):
        done = asyncio.run(branch.roll_back(args, here.context))
        assert (here.read("a.txt"), (here.folder / "new.txt").exists()) == ("1\n", False)
    assert here.git("show", f"refs/bridle/snapshots/{done.kept}:new.txt") == "n\n"


def test_a_rollback_to_a_missing_snapshot_is_refused(here: Repository) -> None:
    args = RollbackArgs(task="Parse", iteration=1, snapshot="missing", why="it failed")
    with pytest.raises(UsageError, match="does not exist any more"):
        asyncio.run(branch.roll_back(args, here.context))


def test_the_users_checkout_of_another_branch_is_undone_or_refused(here: Repository) -> None:
    here.git("checkout", "-q", "main")
    asyncio.run(branch.return_to_branch(here.context))
    assert here.git("branch", "--show-current").strip() == f"bridle/{RUN}"
    here.write({"a.txt": "2\n"})
    commit(here)
    here.git("checkout", "-q", "main")
    here.write({"a.txt": "mine\n"})
    with pytest.raises(UsageError, match=r"uncommitted changes \(a.txt\) prevent"):
        asyncio.run(branch.return_to_branch(here.context))
    assert here.read("a.txt") == "mine\n"
    here.git("checkout", "-q", "-f", "main")
    other = here.folder.parent / "other"
    here.git("worktree", "add", "-q", str(other), f"bridle/{RUN}")
    with pytest.raises(UsageError, match=f"is checked out in another worktree, {other}"):
        asyncio.run(branch.return_to_branch(here.context))
    here.git("worktree", "remove", str(other))
    here.git("branch", "-q", "-D", f"bridle/{RUN}")
    with pytest.raises(UsageError, match="does not exist any more"):
        asyncio.run(branch.return_to_branch(here.context))

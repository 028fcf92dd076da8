"""Landing moves the branch of the run once, however often it is tried, and never over commits of the user."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bridle.loop.effect_results import LandResult
from bridle.loop.effects import LandArgs, PrepareArgs
from bridle.loop.performers import branch
from bridle.loop.performers.merge_work import land
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


def test_nothing_lands_over_a_new_commit_of_the_user(here: Repository) -> None:
    tip = here.git("rev-parse", "HEAD").strip()
    own = commit_on(here, tip, "mine")
    here.git("update-ref", f"refs/heads/{BRANCH}", own)
    args = LandArgs(task="T", iteration=1, commit=commit_on(here, tip, "T"), tip=tip)
    assert asyncio.run(land(args, here.context)) == LandResult(branch=BRANCH, newer=own)
    assert here.git("rev-parse", BRANCH).strip() == own

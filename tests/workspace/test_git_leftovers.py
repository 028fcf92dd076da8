"""What a program left in git is undone; what was there before it stays."""

from __future__ import annotations

import asyncio
from pathlib import Path

from bridle.workspace import git_leftovers
from tests.workspace.fixtures.repositories import git, make_repository, write


def test_an_operation_that_was_there_before_stays(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    head = git(repo.folder, "rev-parse", "HEAD")
    write(repo.folder / ".git", {"MERGE_HEAD": head, "MERGE_MSG": "mine\n"})
    before = git_leftovers.read_state(repo.folder)
    assert before.operations == {"MERGE_HEAD", "MERGE_MSG"}
    write(repo.folder / ".git", {"SQUASH_MSG": "theirs\n"})
    assert asyncio.run(git_leftovers.undo(repo, before)).operations == ()
    assert git_leftovers.read_state(repo.folder) == before
    asyncio.run(git_leftovers.end_operations(repo))
    assert git_leftovers.read_state(repo.folder).operations == frozenset()

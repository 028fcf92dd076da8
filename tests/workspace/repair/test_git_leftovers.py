"""What a program left in git is undone; what was there before it stays."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from bridle.workspace.repair import git_leftovers
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


def test_a_revert_that_is_ended_leaves_the_merge_that_was_there_before(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    head = git(repo.folder, "rev-parse", "HEAD")
    write(repo.folder / ".git", {"MERGE_HEAD": head, "MERGE_MSG": "mine\n"})
    before = git_leftovers.read_state(repo.folder)
    write(repo.folder / ".git", {"REVERT_HEAD": head})
    assert asyncio.run(git_leftovers.undo(repo, before)).operations == ("revert",)
    assert git_leftovers.read_state(repo.folder) == before
    assert (repo.folder / ".git/MERGE_HEAD").read_text() == head


def test_packed_refs_that_git_cannot_read_are_restored(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    git(repo.folder, "pack-refs", "--all")
    before, head = git_leftovers.read_state(repo.folder), git(repo.folder, "rev-parse", "HEAD")
    path = repo.folder / ".git/packed-refs"
    for damaged in ("garbage\n", f"{head} refs/heads/main", None):
        path.unlink()
        if damaged is not None:
            path.write_text(damaged)
        assert asyncio.run(git_leftovers.undo(repo, before)).replaced == ("packed-refs",)
        assert git(repo.folder, "rev-parse", "HEAD") == head
    git(repo.folder, "tag", "-a", "-m", "new", "new")
    git(repo.folder, "pack-refs", "--all")
    assert not asyncio.run(git_leftovers.undo(repo, before)).replaced
    assert "refs/tags/new" in path.read_text()


def test_an_index_of_the_same_size_that_was_written_at_once_is_another(tmp_path: Path) -> None:
    """The state before and after are compared by the content; only the same version of the file is not read again."""
    repository = make_repository(tmp_path / "repository")
    index = repository.folder / ".git/index"
    before = git_leftovers.read_state(repository.folder)
    assert git_leftovers.read_state(repository.folder).index is before.index
    data = bytearray(index.read_bytes())
    data[-1] ^= 1
    facts = index.stat()
    with index.open("r+b") as file:
        file.write(data)
    os.utime(index, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    assert git_leftovers.read_state(repository.folder).index == bytes(data)
    index.unlink()
    assert git_leftovers.read_state(repository.folder).index is None

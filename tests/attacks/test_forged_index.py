"""Attack: an agent rewrites `.git/index`, so that git takes a file as one with other content.

It wants a commit that differs from the files that the checks ran on: without an edit that makes them pass, or with one
that nobody checked. Bridle believes only an index of its own, and compares files by content with any other.

With the sandbox: the same; `.git/index` is writable in it.
Without: the commit has the files on the disk.
Reported: not reported; it changes nothing.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from bridle.workspace import snapshot
from bridle.workspace.git import Git
from tests.attacks.fixtures.git_forgery import forge_entry, forge_tree, store
from tests.workspace.fixtures.repositories import git, make_repository, write


def tree(repo: Git, name: str) -> str:
    found = asyncio.run(snapshot.tree_of_all(repo, as_committed=True))
    return git(repo.folder, "show", f"{found}:{name}")


@pytest.mark.parametrize("attributes", ["", "*.md text\n"])
@pytest.mark.parametrize("driver", ["the same", "a new one"])
def test_a_commit_has_the_files_on_the_disk(tmp_path: Path, driver: str, attributes: str) -> None:
    repo = make_repository(tmp_path / "r")
    write(repo.folder, {".gitattributes": attributes} if attributes else {})
    before = tree(repo, "a.txt")
    blob = git(repo.folder, "rev-parse", "HEAD:a.txt").strip()
    (repo.folder / "a.txt").write_text("edited\n")
    forge_entry(repo.folder, "a.txt", blob)
    forge_entry(repo.folder, "sub/b.txt", store(repo.folder, b"a backdoor\n"))
    assert git(repo.folder, "diff", "--name-only") == "", "the forgery works on git"
    after = repo if driver == "the same" else Git(repo.folder)
    assert before == "one\n"
    assert tree(after, "a.txt") == "edited\n"
    assert tree(after, "sub/b.txt") == "two\n"


@pytest.mark.parametrize("attributes", ["", "*.md text\n"])
@pytest.mark.parametrize("looks_first", ["the files", "the index"])
def test_the_tree_that_an_index_names_for_a_folder_hides_nothing(
    tmp_path: Path, looks_first: str, attributes: str
) -> None:
    repo = make_repository(tmp_path / "r")
    write(repo.folder, {".gitattributes": attributes} if attributes else {})
    git(repo.folder, "add", "-A")
    git(repo.folder, "commit", "-q", "--allow-empty", "-m", "attributes")
    (repo.folder / "sub/b.txt").write_text("edited\n")
    os.utime(repo.folder / "sub/b.txt", (1, 1))  # older than the index: git need not compare
    git(repo.folder, "add", "-A")
    forge_tree(repo.folder, "sub")
    assert git(repo.folder, "write-tree") == git(repo.folder, "rev-parse", "HEAD^{tree}"), "the forgery works on git"
    if looks_first == "the index":
        asyncio.run(snapshot.staged_tree(repo))
    assert tree(repo, "sub/b.txt") == "edited\n"


def test_a_filter_that_is_gone_again_hides_nothing(tmp_path: Path) -> None:
    """Without writing the index by hand: git itself records the old content for the new file."""
    repo = make_repository(tmp_path / "r")
    tree(repo, "a.txt")
    (repo.folder / "a.txt").write_text("edited\n")
    os.utime(repo.folder / "a.txt", (1, 1))  # older than the index: git need not compare
    attributes = repo.folder / ".git" / "info" / "attributes"
    attributes.write_text("a.txt filter=old\n")
    git(repo.folder, "-c", "filter.old.clean=git show HEAD:a.txt", "add", "a.txt")
    attributes.unlink()
    assert git(repo.folder, "diff", "--name-only") == "", "the forgery works on git"
    for driver in (repo, Git(repo.folder)):
        assert tree(driver, "a.txt") == "edited\n"

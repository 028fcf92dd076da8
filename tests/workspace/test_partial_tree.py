"""A tree without some files is the same whether it is derived from the last one or made anew."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

from bridle.workspace import partial_tree, snapshot
from bridle.workspace.git import Git
from tests.workspace.fixtures.repositories import git, make_repository, write

LEFT_OUT = ("mine/a.txt", "mine/b.txt", "c.txt")


def tree(repo: Git) -> str:
    async def derived() -> str:
        whole = await snapshot.tree_of_all(repo, as_committed=True)
        return await partial_tree.tree_without(repo, whole, LEFT_OUT)

    return asyncio.run(derived())


def names(repo: Git, found: str) -> list[str]:
    return git(repo.folder, "ls-tree", "-r", "--name-only", found).splitlines()


def test_changes_are_applied_to_the_kept_index(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    tracked = names(repo, "HEAD")
    write(repo.folder, dict.fromkeys(LEFT_OUT, "mine\n"))
    assert tree(repo) == git(repo.folder, "rev-parse", "HEAD^{tree}").strip()
    write(repo.folder, {"d": "a file\n", "mine/new.txt": "new\n", "c.txt": "changed\n"})
    first = tree(repo)
    assert names(repo, first) == sorted([*tracked, "d", "mine/new.txt"])
    (repo.folder / "d").unlink()
    write(repo.folder, {"d/e.txt": "now a folder\n"})
    assert names(repo, tree(repo)) == sorted([*tracked, "d/e.txt", "mine/new.txt"])
    assert tree(repo) == tree(Git(repo.folder))
    shutil.rmtree(repo.folder / "d")
    write(repo.folder, {"d": "a file\n"})
    assert tree(repo) == first


def test_a_damaged_index_is_made_anew(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    write(repo.folder, dict.fromkeys(LEFT_OUT, "mine\n"))
    tree(repo)
    for path in (repo.folder / ".git").glob("bridle-*.index"):
        path.write_bytes(b"torn")
    write(repo.folder, {"new.txt": "new\n"})
    assert tree(repo) == tree(Git(repo.folder))


def test_trees_that_git_has_collected_are_not_used(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    write(repo.folder, {**dict.fromkeys(LEFT_OUT, "mine\n"), "new.txt": "new\n"})
    first = tree(repo)
    git(repo.folder, "gc", "-q", "--prune=now")
    assert tree(repo) == first
    git(repo.folder, "gc", "-q", "--prune=now")
    write(repo.folder, {"other.txt": "other\n"})
    assert "other.txt" in names(repo, tree(repo))

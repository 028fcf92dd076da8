"""The marks assume-unchanged and skip-worktree are part of a snapshot: written, found again, restored."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bridle.workspace import marks, snapshot
from bridle.workspace.git import Git
from bridle.workspace.marks import Marks
from bridle.workspace.restore import restore, restore_files, stage
from tests.workspace.fixtures.repositories import git, make_repository, read_tree, trace_git, write


def make_sparse(folder: Path) -> Git:
    repo = make_repository(folder)
    write(repo.folder, {"in/x": "x", "out/deep/y": "y", "out/z": "z"})
    git(repo.folder, "add", "-A")
    git(repo.folder, "commit", "-q", "-m", "more")
    git(repo.folder, "sparse-checkout", "set", "--cone", "in")
    return Git(repo.folder)


def state(repo: Git) -> tuple[object, str, str]:
    return read_tree(repo.folder), git(repo.folder, "ls-files", "-v"), git(repo.folder, "status", "--porcelain")


def test_marks_are_found_with_a_snapshot_by_another_process(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    write(repo.folder, {"odd\nname": "", "gone": ""})
    git(repo.folder, "add", "-A")
    git(repo.folder, "update-index", "--assume-unchanged", "a.txt", "odd\nname")
    git(repo.folder, "update-index", "--skip-worktree", "sub/b.txt", "gone", "odd\nname")
    (repo.folder / "gone").unlink()
    taken = asyncio.run(snapshot.take(repo, name="one"))
    found = asyncio.run(snapshot.find(Git(repo.folder), "one"))
    assert found is not None
    assert found.marks == taken.marks
    tags = {"a.txt": "h", "sub/b.txt": "S", "gone": "S", "odd\nname": "s"}
    assert asyncio.run(marks.load(repo, found.marks)) == Marks(tags, frozenset({"gone"}))
    git(repo.folder, "gc", "-q", "--prune=now")
    assert asyncio.run(snapshot.find(Git(repo.folder), "one")) == found
    assert git(repo.folder, "fsck", "--no-dangling") == ""


def test_a_snapshot_without_marks_has_none_and_an_index_without_marks_is_read_once(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    traced, events = trace_git(repo, tmp_path)
    taken = [asyncio.run(snapshot.take(traced, name=f"s{number}")) for number in range(3)]
    assert [each.marks for each in taken] == [""] * 3
    assert git(repo.folder, "log", "--format=%s", f"{taken[0].ref}^2").split("\n")[:2] == ["bridle: the index", "first"]
    assert events.read_text().count('"ls-files","-v"') == 1


def test_a_changed_mark_is_a_change_since_the_last_snapshot(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    first = asyncio.run(snapshot.take(repo))
    assert asyncio.run(snapshot.take(repo, since=first)) is first
    git(repo.folder, "update-index", "--assume-unchanged", "a.txt")
    second = asyncio.run(snapshot.take(repo, since=first))
    assert second.name != first.name
    assert asyncio.run(snapshot.take(repo, since=second)) is second


def test_a_mark_that_was_lost_with_its_entry_comes_back_and_a_new_one_stays(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    git(repo.folder, "update-index", "--assume-unchanged", "a.txt")
    taken = asyncio.run(snapshot.take(repo, name="one"))
    git(repo.folder, "mv", "a.txt", "c.txt")
    git(repo.folder, "commit", "-q", "-m", "renamed")
    git(repo.folder, "update-index", "--skip-worktree", "sub/b.txt")
    again = Git(repo.folder)
    asyncio.run(restore(again, taken))
    assert git(repo.folder, "ls-files", "-v").splitlines() == ["H .gitignore", "h a.txt", "S sub/b.txt"]
    assert git(repo.folder, "status", "--porcelain") == ""


def test_a_snapshot_of_an_earlier_version_is_restored_with_the_marks_of_now(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    git(repo.folder, "update-index", "--assume-unchanged", "a.txt")
    head, tree = git(repo.folder, "rev-parse", "HEAD").strip(), git(repo.folder, "rev-parse", "HEAD^{tree}").strip()
    index = git(repo.folder, "commit-tree", tree, "-p", head, "-m", "bridle: the index").strip()
    commit = git(repo.folder, "commit-tree", tree, "-p", head, "-p", index, "-m", "bridle: snapshot").strip()
    git(repo.folder, "update-ref", "refs/bridle/snapshots/old", commit)
    old = asyncio.run(snapshot.find(repo, "old"))
    assert old is not None
    assert old.marks == ""
    write(repo.folder, {"a.txt": "bad\n"})
    asyncio.run(restore(repo, old))
    assert (repo.folder / "a.txt").read_text() == "one\n"
    assert "h a.txt" in git(repo.folder, "ls-files", "-v")


@pytest.mark.parametrize("is_staged", [False, True])
def test_what_a_sparse_checkout_leaves_out_is_left_out_again(tmp_path: Path, is_staged: bool) -> None:
    repo = make_sparse(tmp_path / "r")
    before = state(repo)
    taken = asyncio.run(snapshot.take(repo, name="one"))
    write(repo.folder, {"out/deep/y": "agent", "out/new": "agent"})
    if is_staged:
        git(repo.folder, "add", "--sparse", "-A")
        git(repo.folder, "commit", "-q", "-m", "own")
    later = Git(repo.folder)
    work = asyncio.run(snapshot.tree_of_all(later))
    assert git(repo.folder, "show", f"{work}:out/deep/y") == "agent"
    asyncio.run(restore(later, taken))
    assert state(repo) == before


def test_files_of_a_check_outside_of_a_sparse_checkout_are_removed(tmp_path: Path) -> None:
    repo = make_sparse(tmp_path / "r")
    before, marked = state(repo), asyncio.run(marks.read(repo))
    tree = asyncio.run(snapshot.tree_of_all(repo))
    write(repo.folder, {"out/deep/y": "check"})
    git(repo.folder, "read-tree", "HEAD")  # it writes an index without the mark of a file that is there
    assert "H out/deep/y" in git(repo.folder, "ls-files", "-v")
    asyncio.run(restore_files(repo, tree, marked=marked))
    asyncio.run(marks.set_again(repo, marked))
    assert state(repo) == before


def test_a_sparse_checkout_that_the_user_has_changed_since_stays_as_it_is(tmp_path: Path) -> None:
    repo = make_sparse(tmp_path / "r")
    taken = asyncio.run(snapshot.take(repo))
    for words in (("set", "--cone", "in", "out/deep"), ("disable",)):
        git(repo.folder, "sparse-checkout", *words)
        before = state(repo)
        assert (repo.folder / "out/deep/y").exists()
        write(repo.folder, {"in/x": "bad"})
        asyncio.run(restore(Git(repo.folder), taken))
        assert state(repo) == before


def test_a_file_that_a_mark_had_left_out_and_that_is_there_now_is_seen(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    git(repo.folder, "update-index", "--skip-worktree", "a.txt")
    (repo.folder / "a.txt").unlink()
    before = state(repo)
    taken = asyncio.run(snapshot.take(repo))
    assert git(repo.folder, "show", f"{taken.tree}:a.txt") == "one\n"
    write(repo.folder, {"a.txt": "agent\n"})
    later = asyncio.run(snapshot.take(repo))
    assert git(repo.folder, "show", f"{later.tree}:a.txt") == "agent\n"
    asyncio.run(restore(repo, taken))
    assert state(repo) == before


def test_marks_that_a_program_cleared_are_set_again_and_deleted_files_count_as_deleted(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    write(repo.folder, {"c": "c", "d": "d"})
    git(repo.folder, "add", "-A")
    git(repo.folder, "commit", "-q", "-m", "more")
    git(repo.folder, "update-index", "--assume-unchanged", "a.txt", "c")
    git(repo.folder, "update-index", "--skip-worktree", "sub/b.txt", "d")
    before, index_tree = asyncio.run(marks.read(repo)), asyncio.run(snapshot.staged_tree(repo))
    git(repo.folder, "update-index", "--no-assume-unchanged", "a.txt")
    git(repo.folder, "rm", "-q", "--cached", "c")
    git(repo.folder, "update-index", "--no-skip-worktree", "sub/b.txt")
    (repo.folder / "d").unlink()
    later = Git(repo.folder)
    assert asyncio.run(marks.set_again(later, before, index_tree)) == ["a.txt", "sub/b.txt"]
    assert git(repo.folder, "ls-files", "-v").splitlines()[1:] == ["h a.txt", "h c", "H d", "S sub/b.txt"]
    assert "d" not in git(repo.folder, "ls-tree", "--name-only", asyncio.run(snapshot.tree_of_all(later))).split()


def test_the_mark_of_a_renamed_file_is_on_its_new_name_when_that_is_staged(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    git(repo.folder, "update-index", "--assume-unchanged", "a.txt")
    (repo.folder / "a.txt").rename(repo.folder / "sub/c.txt")
    base, tree = git(repo.folder, "rev-parse", "HEAD").strip(), asyncio.run(snapshot.tree_of_all(repo))
    asyncio.run(stage(repo, tree, base=base))
    assert git(repo.folder, "ls-files", "-v").splitlines() == ["H .gitignore", "H sub/b.txt", "h sub/c.txt"]


def test_marks_are_carried_as_files_are(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    found = []
    for old, before, after in (
        ({"a": "h", "b": "S"}, {"a": "h", "b": "S", "c": "h"}, {"b": "S", "d": "h"}),
        ({}, {"a": "h"}, {"a": "h"}),
        ({"a": "h"}, {"a": "h"}, {}),
    ):
        trees = [asyncio.run(marks.write(repo, Marks(tags))) for tags in (old, before, after)]
        carried = asyncio.run(marks.load(repo, asyncio.run(marks.carry(repo, *trees))))
        found.append(dict(carried.tags) if carried is not None else {})
    assert found == [{"b": "S", "d": "h"}, {}, {}]

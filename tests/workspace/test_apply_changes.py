"""Joining: both sides' changes are there, nothing else moved, and a join that was killed can be finished."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from bridle.workspace import apply_changes, snapshot, worktree
from bridle.workspace.apply_changes import PlannedMerge, ResumedMerge
from bridle.workspace.git import Git
from bridle.workspace.merge import Conflicts
from bridle.workspace.restore import restore
from tests.workspace.fixtures.repositories import git, index, make_repository, read_tree, write

MANY: dict[str, str | bytes] = {f"many/{number:02d}.txt": f"{number}\n" * 50 for number in range(12)}


def lent(repo: Git) -> tuple[Git, snapshot.Snapshot]:
    """A working copy that looks just like the first, and the snapshot that it began with."""

    async def lend() -> tuple[Git, snapshot.Snapshot]:
        base = await snapshot.take(repo)
        made = await worktree.add(repo, "lent", is_empty=True)
        other = Git(made.folder)
        await restore(other, base, moves_head=False)
        return other, base

    return asyncio.run(lend())


def planned(repo: Git, other: Git, base: snapshot.Snapshot) -> PlannedMerge | Conflicts:
    async def look() -> PlannedMerge | Conflicts:
        theirs = await snapshot.take(other)
        return await apply_changes.plan(repo, base.commit, theirs.tree)

    return asyncio.run(look())


def joined(repo: Git, other: Git, base: snapshot.Snapshot) -> PlannedMerge:
    found = planned(repo, other, base)
    assert isinstance(found, PlannedMerge)
    assert asyncio.run(apply_changes.apply(repo, found))
    return found


def dirty(folder: Path) -> Git:
    """A repository with changes of every kind that nobody has committed."""
    repo = make_repository(folder)
    write(folder, {"a.txt": "one, changed\n", "staged.txt": "s\n", "new.txt": "n\n", "ignored/x": "i"})
    git(folder, "add", "staged.txt")
    (folder / "sub/b.txt").unlink()
    return repo


def test_a_lent_copy_has_what_is_changed_and_not_committed(tmp_path: Path) -> None:
    repo = dirty(tmp_path / "r")
    other, _ = lent(repo)
    mine = {name: value for name, value in read_tree(repo.folder).items() if not name.startswith("ignored/")}
    assert read_tree(other.folder) == mine
    assert git(other.folder, "status", "--porcelain") == git(repo.folder, "status", "--porcelain")


def test_their_changes_come_in_beside_ours_and_nothing_is_committed(tmp_path: Path) -> None:
    repo = dirty(tmp_path / "r")
    other, base = lent(repo)
    write(other.folder, {"theirs.txt": "t\n", "staged.txt": "s, by them\n", "bin": bytes(range(256))})
    (other.folder / "new.txt").unlink()
    write(repo.folder, {"ours.txt": "meanwhile\n"})
    head, staged = git(repo.folder, "rev-parse", "HEAD"), index(repo.folder)
    joined(repo, other, base)
    now = read_tree(repo.folder)
    assert now["theirs.txt"][1] == b"t\n"
    assert now["staged.txt"][1] == b"s, by them\n"
    assert now["bin"][1] == bytes(range(256))
    assert now["ours.txt"][1] == b"meanwhile\n"
    assert now["a.txt"][1] == b"one, changed\n"
    assert "new.txt" not in now
    assert (git(repo.folder, "rev-parse", "HEAD"), index(repo.folder)) == (head, staged)
    assert list((repo.folder / ".git").glob("bridle-*.index*")) == []


def test_both_may_change_one_file_in_different_places(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    write(repo.folder, {"both": "".join(f"{number}\n" for number in range(30))})
    other, base = lent(repo)
    text = (repo.folder / "both").read_text()
    write(repo.folder, {"both": text.replace("2\n", "two\n", 1)})
    write(other.folder, {"both": text.replace("27\n", "twenty-seven\n")})
    joined(repo, other, base)
    assert (repo.folder / "both").read_text() == text.replace("2\n", "two\n", 1).replace("27\n", "twenty-seven\n")


def test_conflicts_are_named_and_nothing_is_touched(tmp_path: Path) -> None:
    repo = dirty(tmp_path / "r")
    other, base = lent(repo)
    write(repo.folder, {"a.txt": "ours\n"})
    write(other.folder, {"a.txt": "theirs\n", "fine.txt": "f\n"})
    before = read_tree(repo.folder)
    found = planned(repo, other, base)
    assert isinstance(found, Conflicts)
    assert found.paths == ("a.txt",)
    assert read_tree(repo.folder) == before


def test_a_working_copy_that_changed_since_is_left_alone(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    other, base = lent(repo)
    write(other.folder, {"theirs": "t"})
    found = planned(repo, other, base)
    assert isinstance(found, PlannedMerge)
    write(repo.folder, {"a.txt": "meanwhile"})
    assert not asyncio.run(apply_changes.apply(repo, found))
    assert "theirs" not in read_tree(repo.folder)


@pytest.mark.parametrize("name", ["x.tmp", "x.tmp/below"])
def test_an_ignored_file_in_the_way_is_not_overwritten(tmp_path: Path, name: str) -> None:
    repo = make_repository(tmp_path / "r")
    other, base = lent(repo)
    write(other.folder, {".gitignore": "", name: "theirs"})
    write(repo.folder, {"x.tmp": "mine"})
    before = read_tree(repo.folder)
    found = planned(repo, other, base)
    assert isinstance(found, Conflicts)
    assert found.paths == ("x.tmp",)
    assert read_tree(repo.folder) == before


def test_files_and_folders_may_take_each_others_names(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    write(repo.folder, {"file": "f", "folder/one": "1", "folder/two": "2"})
    other, base = lent(repo)
    (other.folder / "file").unlink()
    shutil.rmtree(other.folder / "folder")
    write(other.folder, {"file/inside": "i", "folder": "now a file"})
    joined(repo, other, base)
    assert read_tree(repo.folder) == read_tree(other.folder)


def test_own_commits_of_the_other_side_count(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    other, base = lent(repo)
    write(other.folder, {"committed": "c"})
    git(other.folder, "add", "-A")
    git(other.folder, "commit", "-q", "-m", "their own")
    write(other.folder, {"later": "l"})
    joined(repo, other, base)
    assert {"committed", "later"} <= set(read_tree(repo.folder))


@pytest.mark.parametrize("done", [0, 1, 5, 12])
def test_a_join_that_was_killed_half_way_is_finished(tmp_path: Path, done: int) -> None:
    repo = dirty(tmp_path / "r")
    write(repo.folder, MANY)
    other, base = lent(repo)
    changes: dict[str, str | bytes] = {name: f"changed {name}\n" * 40 for name in MANY}
    write(other.folder, changes)
    (other.folder / "many/03.txt").unlink()
    write(other.folder, {"many/03.txt/now": "a folder\n", "new/deep": "n\n"})
    (other.folder / "new.txt").unlink()
    found = planned(repo, other, base)
    assert isinstance(found, PlannedMerge)
    whole = read_tree(other.folder)
    # What a kill leaves: some files written, one in the midst of it, one taken away and not yet written.
    for name in sorted(MANY)[:done]:
        if (other.folder / name).is_file():
            write(repo.folder, {name: changes[name]})
    write(repo.folder, {"many/10.txt": str(changes["many/10.txt"])[:17]})
    (repo.folder / "many/11.txt").unlink()
    write(repo.folder, {"elsewhere.txt": "written by a person since\n"})
    finished = asyncio.run(apply_changes.resume(repo, found))
    now = read_tree(repo.folder)
    assert now.pop("elsewhere.txt")[1] == b"written by a person since\n"
    assert {name: value for name, value in now.items() if not name.startswith("ignored/")} == whole
    assert finished is not None
    assert finished.before is not None
    assert git(repo.folder, "show", f"{finished.before.ref}:many/10.txt") == str(changes["many/10.txt"])[:17]
    assert asyncio.run(apply_changes.resume(repo, found)) == ResumedMerge(None), "doing it twice is fine"
    assert read_tree(repo.folder)["many/00.txt"][1] == str(changes["many/00.txt"]).encode()


def test_a_join_is_not_finished_over_what_a_user_wrote_since(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    other, base = lent(repo)
    write(other.folder, {"a.txt": "theirs\n", "b.txt": "new\n"})
    found = planned(repo, other, base)
    assert isinstance(found, PlannedMerge)
    write(repo.folder, {"a.txt": "theirs\nand a person's\n"})
    before = read_tree(repo.folder)
    assert asyncio.run(apply_changes.resume(repo, found)) is None
    assert read_tree(repo.folder) == before


def test_a_join_is_not_finished_on_another_commit(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    other, base = lent(repo)
    write(other.folder, {"a.txt": "theirs\n"})
    found = planned(repo, other, base)
    assert isinstance(found, PlannedMerge)
    git(repo.folder, "commit", "-q", "--allow-empty", "-m", "a person's")
    assert asyncio.run(apply_changes.resume(repo, found)) is None
    assert (repo.folder / "a.txt").read_text() == "one\n"


def test_what_a_snapshot_holds_can_be_put_on_a_branch(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    write(repo.folder, {"a.txt": "changed\n", "new": "n"})
    taken = asyncio.run(snapshot.take(repo))
    commit = asyncio.run(snapshot.keep_as_branch(repo, taken, "bridle/kept/x", "kept"))
    assert git(repo.folder, "rev-parse", "bridle/kept/x").strip() == commit
    assert git(repo.folder, "show", "bridle/kept/x:a.txt") == "changed\n"
    assert git(repo.folder, "rev-parse", "bridle/kept/x^") == git(repo.folder, "rev-parse", "HEAD")

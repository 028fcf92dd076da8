"""Snapshots: everything is kept, everything comes back, and nothing else is touched."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bridle.errors import GitError, UsageError
from bridle.workspace import files_index, private_indexes, snapshot
from bridle.workspace.git import Git
from bridle.workspace.restore import restore
from tests.workspace.fixtures.repositories import git, index, make_repository, read_tree, trace_git, write


def test_taking_one_changes_neither_files_nor_index_nor_branches(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    write(repo.folder, {"a.txt": "changed\n", "new.txt": "new\n", "staged.txt": "s\n"})
    git(repo.folder, "add", "staged.txt")
    before = (
        read_tree(repo.folder),
        index(repo.folder),
        git(repo.folder, "branch", "-a"),
        git(repo.folder, "stash", "list"),
    )
    taken = asyncio.run(snapshot.take(repo))
    after = (
        read_tree(repo.folder),
        index(repo.folder),
        git(repo.folder, "branch", "-a"),
        git(repo.folder, "stash", "list"),
    )
    assert before == after
    assert git(repo.folder, "rev-parse", taken.ref).strip() == taken.commit
    files_index.drop(repo)
    assert list((repo.folder / ".git").glob("bridle-*.index*")) == []


def test_an_index_that_git_cannot_read_is_not_taken_for_a_merge(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    git(repo.folder, "update-index", "--add", "--cacheinfo", f"100644,{'1' * 40},ghost.txt")
    with pytest.raises(GitError, match="ghost"):
        asyncio.run(snapshot.take(repo))


def test_the_marks_of_an_index_without_any_are_read_once(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    traced, events = trace_git(repo, tmp_path)
    counts = []
    for _ in range(2):
        asyncio.run(snapshot.take(traced))
        counts.append(events.read_text().count('"ls-files","-v"'))
        files_index.drop(traced)  # else no look reads them again
    assert counts == [1, 1]


def test_everything_comes_back_and_what_is_ignored_stays(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    write(repo.folder, {"a.txt": "mine\n", "deep/er/new.bin": bytes(range(256)), "run.sh": "#!/bin/sh\n"})
    os.chmod(repo.folder / "run.sh", 0o700)
    os.symlink("a.txt", repo.folder / "link")
    (repo.folder / "sub/b.txt").unlink()
    write(repo.folder, {"staged.txt": "staged\n"})
    git(repo.folder, "add", "staged.txt")
    write(repo.folder, {"staged.txt": "staged, then changed\n", "ignored/cache": "1", "x.tmp": "t"})
    before, staged = read_tree(repo.folder), index(repo.folder)

    taken = asyncio.run(snapshot.take(repo))
    shutil.rmtree(repo.folder / "deep")
    (repo.folder / "link").unlink()
    write(repo.folder, {"a.txt": "ruined\n", "junk/one": "j", "sub/b.txt": "again\n", "deep": "a file now\n"})
    write(repo.folder, {"ignored/cache": "2", "ignored/more": "3"})
    os.chmod(repo.folder / "run.sh", 0o644)
    git(repo.folder, "add", "-A")
    git(repo.folder, "commit", "-q", "-m", "the agent's own")
    write(repo.folder, {"after.txt": "x"})
    asyncio.run(restore(repo, taken))

    expected = {**before, "ignored/cache": ("file", b"2"), "ignored/more": ("file", b"3")}
    assert read_tree(repo.folder) == expected
    assert index(repo.folder) == staged
    assert git(repo.folder, "log", "--format=%s").split("\n")[0] == "first"
    assert git(repo.folder, "symbolic-ref", "HEAD").strip() == "refs/heads/main"


def test_a_restore_can_leave_the_branch_where_it_is(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    taken = asyncio.run(snapshot.take(repo))
    write(repo.folder, {"a.txt": "two\n"})
    git(repo.folder, "commit", "-q", "-a", "-m", "second")
    asyncio.run(restore(repo, taken, moves_head=False))
    assert git(repo.folder, "log", "-1", "--format=%s").strip() == "second"
    assert (repo.folder / "a.txt").read_text() == "one\n"


def test_a_snapshot_is_found_by_its_name_by_another_process(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    write(repo.folder, {"new.txt": "n"})
    taken = asyncio.run(snapshot.take(repo, name="run-1"))
    found = asyncio.run(snapshot.find(Git(repo.folder), "run-1"))
    assert found is not None
    assert (found.commit, found.tree, found.index_tree, found.head) == (
        taken.commit,
        taken.tree,
        taken.index_tree,
        taken.head,
    )
    assert asyncio.run(snapshot.find(repo, "run-2")) is None
    asyncio.run(snapshot.drop(repo, taken))
    assert asyncio.run(snapshot.find(repo, "run-1")) is None


def test_a_repository_without_a_commit_has_snapshots_too(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    folder.mkdir()
    git(folder, "init", "-q")
    write(folder, {"a.txt": "a"})
    repo = Git(folder)
    taken = asyncio.run(snapshot.take(repo))
    write(folder, {"a.txt": "b", "b.txt": "b"})
    asyncio.run(restore(repo, taken))
    assert read_tree(folder) == {"a.txt": ("file", b"a")}


def test_line_ends_and_filters_change_no_byte(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    git(repo.folder, "config", "core.autocrlf", "true")
    git(repo.folder, "config", "filter.upper.clean", "tr a-z A-Z")
    git(repo.folder, "config", "filter.upper.smudge", "tr A-Z a-z")
    git(repo.folder, "config", "filter.upper.required", "true")
    write(repo.folder, {".gitattributes": "*.up filter=upper\n", "mixed.txt": b"a\r\nb\nc\r\n", "x.up": "MiXeD\n"})
    before = read_tree(repo.folder)
    taken = asyncio.run(snapshot.take(repo))
    write(repo.folder, {"mixed.txt": "gone", "x.up": "gone"})
    asyncio.run(restore(repo, taken))
    assert read_tree(repo.folder) == before


def test_odd_names_survive(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    names = ["-n", "--flag", "a\nb", "tab\there", "quote\"'", "ünï", "sp ace/ in"]
    for name in names:
        write(repo.folder, {name: name})
    write(repo.folder, {os.fsdecode(b"bad\xff"): "x"})
    before = read_tree(repo.folder)
    taken = asyncio.run(snapshot.take(repo))
    for name in names:
        (repo.folder / name).unlink()
    asyncio.run(restore(repo, taken))
    assert read_tree(repo.folder) == before


def test_a_merge_under_way_is_refused_with_words(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    git(repo.folder, "checkout", "-q", "-b", "other")
    write(repo.folder, {"a.txt": "theirs\n"})
    git(repo.folder, "commit", "-q", "-a", "-m", "theirs")
    git(repo.folder, "checkout", "-q", "main")
    write(repo.folder, {"a.txt": "ours\n"})
    git(repo.folder, "commit", "-q", "-a", "-m", "ours")
    with pytest.raises(Exception, match="returned non-zero"):
        git(repo.folder, "merge", "other")
    with pytest.raises(GitError, match=r"are in conflict: a\.txt"):
        asyncio.run(snapshot.take(repo))


def test_a_name_that_is_no_name_is_refused(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    for name in ("../x", "a/b", "", "-x", "a\0b"):
        with pytest.raises(UsageError):
            asyncio.run(snapshot.take(repo, name=name))


def test_the_variables_of_another_repository_lead_nowhere(tmp_path: Path) -> None:
    repo, other = make_repository(tmp_path / "r"), make_repository(tmp_path / "o")
    misled = Git(repo.folder, {**os.environ, "GIT_DIR": str(other.folder / ".git"), "GIT_INDEX_FILE": "/nowhere"})
    taken = asyncio.run(snapshot.take(misled))
    assert git(repo.folder, "rev-parse", taken.ref).strip() == taken.commit
    assert "bridle" not in git(other.folder, "for-each-ref")


NAMES = st.sampled_from(["a.txt", "sub/b.txt", "new", "sub", "x/y/z", "x"])
CHANGES = st.lists(st.tuples(NAMES, st.none() | st.binary(max_size=6)), max_size=6)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(first=CHANGES, second=CHANGES)
def test_whatever_happens_in_between_everything_comes_back(
    tmp_path: Path, first: list[tuple[str, bytes | None]], second: list[tuple[str, bytes | None]]
) -> None:
    shutil.rmtree(tmp_path / "r", ignore_errors=True)
    repo = make_repository(tmp_path / "r")
    _apply(repo.folder, first)
    before, staged = read_tree(repo.folder), index(repo.folder)
    taken = asyncio.run(snapshot.take(repo))
    _apply(repo.folder, second)
    asyncio.run(restore(repo, taken))
    assert (read_tree(repo.folder), index(repo.folder)) == (before, staged)


def _apply(folder: Path, changes: list[tuple[str, bytes | None]]) -> None:
    for name, content in changes:
        path = folder / name
        for above in path.relative_to(folder).parents:
            if (folder / above).is_file():
                (folder / above).unlink()
        if path.is_dir():
            shutil.rmtree(path)
        path.unlink(missing_ok=True)
        if content is not None:
            write(folder, {name: content})


def test_a_change_in_the_second_of_the_last_commit_is_seen(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    an_hour_ago = (1_700_000_000, 1_700_000_000)
    os.utime(repo.folder / "a.txt", an_hour_ago)
    git(repo.folder, "update-index", "--refresh")
    write(repo.folder, {"a.txt": "two\n"})  # the same size
    for changed in ("a.txt", ".git/index"):
        os.utime(repo.folder / changed, an_hour_ago)
    taken = asyncio.run(snapshot.take(repo))
    assert git(repo.folder, "show", f"{taken.commit}:a.txt") == "two\n"


def test_files_that_the_index_was_told_not_to_look_at_are_looked_at(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    git(repo.folder, "update-index", "--assume-unchanged", "a.txt")
    git(repo.folder, "update-index", "--skip-worktree", "sub/b.txt")
    write(repo.folder, {"a.txt": "hidden\n", "sub/b.txt": "hidden too\n"})
    taken = asyncio.run(snapshot.take(repo))
    assert git(repo.folder, "show", f"{taken.commit}:a.txt") == "hidden\n"
    assert git(repo.folder, "show", f"{taken.commit}:sub/b.txt") == "hidden too\n"


def test_what_a_sparse_checkout_leaves_out_is_not_taken_for_deleted(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    git(repo.folder, "sparse-checkout", "set", "--no-cone", "/a.txt", "/.gitignore")
    assert not (repo.folder / "sub/b.txt").exists()
    taken = asyncio.run(snapshot.take(repo))
    assert git(repo.folder, "show", f"{taken.commit}:sub/b.txt") == "two\n"


def test_a_repository_without_a_commit_inside_the_working_copy_is_passed_over(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    write(repo.folder, {"new.txt": "new\n", "one (1)/x": "x", "two/x": "x"})
    git(repo.folder / "one (1)", "init", "-q")
    git(repo.folder / "two", "init", "-q")
    taken = asyncio.run(snapshot.take(repo))
    assert git(repo.folder, "ls-tree", "-r", "--name-only", taken.commit).split() == [
        ".gitignore",
        "a.txt",
        "new.txt",
        "sub/b.txt",
    ]
    write(repo.folder, {"a.txt": "ruined\n"})
    asyncio.run(restore(repo, taken))
    assert (repo.folder / "a.txt").read_text() == "one\n"
    assert (repo.folder / "two/x").read_text() == "x"


def test_an_index_as_committed_makes_the_tree_of_a_commit(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    git(repo.folder, "config", "filter.shout.clean", "tr a-z A-Z")
    write(repo.folder, {".gitattributes": "*.txt filter=shout\n", "a.txt": "changed\n"})

    async def trees() -> tuple[str, str]:
        async with snapshot.index_of_all(repo) as variables:
            raw = await repo.text("write-tree", variables=variables)
        async with snapshot.index_of_all(repo, as_committed=True) as variables:
            return raw, await repo.text("write-tree", variables=variables)

    raw, committed = asyncio.run(trees())
    assert git(repo.folder, "show", f"{raw}:a.txt") == "changed\n"
    git(repo.folder, "add", "-A")
    assert committed == git(repo.folder, "write-tree").strip()
    assert git(repo.folder, "show", f"{committed}:a.txt") == "CHANGED\n"


def test_an_index_whose_tree_is_known_is_not_copied(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    first = asyncio.run(snapshot.staged_tree(repo))
    calls: list[tuple[str, ...]] = []

    async def no_git(*words: str, **_more: object) -> tuple[int, str]:
        calls.append(words)
        return 0, ""

    made = (repo.folder / ".git").stat().st_mtime_ns
    repo.run = no_git  # type: ignore[method-assign]  # to see whether it is asked
    assert asyncio.run(snapshot.staged_tree(repo)) == first
    assert calls == []
    assert (repo.folder / ".git").stat().st_mtime_ns == made


def test_an_index_that_a_killed_program_left_is_removed_and_that_of_a_living_one_stays(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    gone = subprocess.Popen(["true"])
    gone.wait()
    names = [f"bridle-{gone.pid}-{'0' * 32}.index", f"bridle-{gone.pid}-{'0' * 32}.index.lock"]
    ours = [f"bridle-{os.getpid()}-{'0' * 32}.index", "bridle-notes.index", "index"]
    write(repo.folder / ".git", dict.fromkeys([*names, *ours[:2]], ""))
    asyncio.run(private_indexes.clear_indexes(repo))
    left = {path.name for path in (repo.folder / ".git").iterdir()}
    assert left.isdisjoint(names)
    assert set(ours) <= left

"""Commits, merges and worktrees: what they make, what they report, and what they leave alone."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import threading
from collections import Counter
from pathlib import Path

import pytest

from bridle.errors import GitError, UsageError
from bridle.ground.children.query_result import QueryResult
from bridle.ground.files import known_folders
from bridle.workspace import git_command, worktree
from bridle.workspace.commit import commit, format_message
from bridle.workspace.git import Git, check_branch
from bridle.workspace.merge import Conflicts, merged_tree
from bridle.workspace.restore import put_index
from tests.workspace.fixtures.repositories import git, make_repository, read_tree, trace_git, write


def trailers(folder: Path) -> list[str]:
    return git(folder, "log", "-1", "--format=%(trailers:only,unfold)").strip().split("\n")


def test_a_commit_has_everything_and_its_trailers(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    write(repo.folder, {"a.txt": "changed\n", "new/file": "n", "ignored/x": "i"})
    (repo.folder / "sub/b.txt").unlink()
    text = format_message(
        "Add\na thing", "Body: with a colon\n\n# not a comment", {"Bridle-Run": "r-1", "Bridle-Cost": "0.1 USD"}
    )
    made = asyncio.run(commit(repo, text))
    assert made is not None
    assert git(repo.folder, "status", "--porcelain").strip() == ""
    assert git(repo.folder, "log", "-1", "--format=%s").strip() == "Add a thing"
    assert "# not a comment" in git(repo.folder, "log", "-1", "--format=%B")
    assert trailers(repo.folder) == ["Bridle-Run: r-1", "Bridle-Cost: 0.1 USD"]
    assert asyncio.run(commit(repo, text)) is None


def test_a_value_cannot_forge_another_trailer(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    write(repo.folder, {"a.txt": "x"})
    made = asyncio.run(commit(repo, format_message("s", "", {"Bridle-Task": "t\nBridle-Checks: 9 passed"})))
    assert made is not None
    assert trailers(repo.folder) == ["Bridle-Task: t Bridle-Checks: 9 passed"]
    with pytest.raises(UsageError):
        format_message("s", "", {"two words": "x"})


def test_no_hook_runs_and_no_user_is_asked(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    for name in ("pre-commit", "post-commit", "post-index-change", "reference-transaction"):
        hook = repo.folder / ".git/hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text("#!/bin/sh\ntouch hook-ran\nexit 1\n")
        hook.chmod(0o755)
    git(repo.folder, "config", "commit.gpgsign", "true")
    write(repo.folder, {"a.txt": "x"})
    assert asyncio.run(commit(repo, "s\n")) is not None
    assert not (repo.folder / "hook-ran").exists()


def test_what_a_commit_and_a_ref_need_is_synced(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    traced, events = trace_git(repo, tmp_path)
    write(repo.folder, {"a.txt": "x"})
    assert asyncio.run(commit(traced, "s\n")) is not None
    asyncio.run(traced.run("update-ref", "refs/bridle/x", "HEAD"))
    listed = [json.loads(line) for line in events.read_text().splitlines()]
    names = {event["sid"]: event["name"] for event in listed if event["event"] == "cmd_name"}
    synced = Counter[str]()
    for event in listed:
        if event.get("key") == "fsync/hardware-flush":
            synced[names[event["sid"]]] += int(event["value"])
    assert set(synced) >= {"add", "write-tree", "commit", "update-ref"}  # blobs, trees, the commit and refs


def test_any_number_of_new_files_is_synced_at_once(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    traced, events = trace_git(repo, tmp_path)
    write(repo.folder, {f"{number}.txt": str(number) for number in range(20)})
    assert asyncio.run(commit(traced, "s\n")) is not None
    listed = [json.loads(line) for line in events.read_text().splitlines()]
    assert sum(int(event["value"]) for event in listed if event.get("key") == "fsync/hardware-flush") < 20


def test_no_object_is_taken_for_another_one(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    git(repo.folder, "commit", "-q", "--allow-empty", "-m", "true")
    head = git(repo.folder, "rev-parse", "HEAD").strip()
    other = git(repo.folder, "commit-tree", "-m", "false", "HEAD^{tree}").strip()
    git(repo.folder, "replace", head, other)
    assert asyncio.run(repo.text("log", "-1", "--format=%s", head)) == "true"


def two_sides(folder: Path, ours: dict[str, str | bytes], theirs: dict[str, str | bytes]) -> Git:
    repo = make_repository(folder)
    git(folder, "checkout", "-q", "-b", "other")
    write(folder, theirs)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "theirs")
    git(folder, "checkout", "-q", "main")
    write(folder, ours)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "ours", "--allow-empty")
    return repo


def test_a_merged_tree_has_both_sides(tmp_path: Path) -> None:
    repo = two_sides(tmp_path / "r", {"ours": "o"}, {"theirs": "t"})
    tree = asyncio.run(merged_tree(repo, "main", "other"))
    assert isinstance(tree, str)
    assert {"ours", "theirs"} <= set(git(repo.folder, "ls-tree", "--name-only", tree).split())
    assert git(repo.folder, "status", "--porcelain").strip() == ""


def test_conflicts_are_reported_and_nothing_is_touched(tmp_path: Path) -> None:
    repo = two_sides(tmp_path / "r", {"a.txt": "ours\n", "sub/b.txt": "o\n"}, {"a.txt": "theirs\n", "sub/b.txt": "t\n"})
    before, head = read_tree(repo.folder), git(repo.folder, "rev-parse", "HEAD")
    done = asyncio.run(merged_tree(repo, "main", "other"))
    assert isinstance(done, Conflicts)
    assert sorted(done.paths) == ["a.txt", "sub/b.txt"]
    assert "CONFLICT" in done.details
    assert (read_tree(repo.folder), git(repo.folder, "rev-parse", "HEAD")) == (before, head)
    assert git(repo.folder, "status", "--porcelain").strip() == ""


def test_worktrees_come_and_go_and_those_of_others_stay(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    git(repo.folder, "worktree", "add", "-q", "-b", "mine", str(tmp_path / "mine"))
    one = asyncio.run(worktree.add(repo, "effect-1", branch="bridle/effect-1"))
    two = asyncio.run(worktree.add(repo, "effect-2"))
    assert read_tree(one.folder) == read_tree(repo.folder)
    assert [(each.name, each.branch) for each in asyncio.run(worktree.list_worktrees(repo))] == [
        ("effect-1", "bridle/effect-1"),
        ("effect-2", None),
    ]
    write(one.folder, {"dirty": "x"})
    asyncio.run(worktree.remove(repo, one))
    asyncio.run(worktree.remove(repo, two))
    assert asyncio.run(worktree.list_worktrees(repo)) == []
    assert not one.folder.exists()
    assert (tmp_path / "mine/a.txt").exists()
    with pytest.raises(UsageError, match="not a worktree of Bridle"):
        asyncio.run(worktree.remove(repo, worktree.Worktree("mine", tmp_path / "mine", "mine")))


def test_a_worktree_that_a_killed_git_left_half_made_is_made_anew(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    made = asyncio.run(worktree.add(repo, "effect-1"))
    (repo.folder / ".git/worktrees/effect-1/locked").write_text("initializing")
    shutil.rmtree(made.folder)
    asyncio.run(worktree.remove(repo, made))
    assert asyncio.run(worktree.add(repo, "effect-1")) == made
    assert (made.folder / ".git").is_file()


def test_a_worktree_for_an_agent_is_in_the_working_copy_and_git_does_not_see_it(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    made = asyncio.run(worktree.add(repo, "effect-1", is_for_an_agent=True))
    assert made.folder == (repo.folder / ".ralph/worktrees/effect-1").resolve()
    assert git(repo.folder, "status", "--porcelain") == ""
    assert [one.name for one in asyncio.run(worktree.list_worktrees(repo))] == ["effect-1"]
    asyncio.run(worktree.remove(repo, made))
    assert not made.folder.exists()


def test_a_worktree_of_the_user_on_a_disk_that_is_not_mounted_is_not_forgotten(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    git(repo.folder, "worktree", "add", "-q", "-b", "mine", str(tmp_path / "disk/mine"))
    (tmp_path / "disk").rename(tmp_path / "unmounted")
    asyncio.run(worktree.remove(repo, asyncio.run(worktree.add(repo, "effect-1"))))
    (tmp_path / "unmounted").rename(tmp_path / "disk")
    assert git(tmp_path / "disk/mine", "branch", "--show-current").strip() == "mine"


def test_a_link_in_place_of_our_folder_is_refused(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    (repo.folder / ".ralph").symlink_to(tmp_path)
    with pytest.raises(GitError, match="is a link"):
        asyncio.run(worktree.add(repo, "effect-1", is_for_an_agent=True))


def test_a_worktree_whose_folder_vanished_can_be_made_again(tmp_path: Path) -> None:
    import shutil

    repo = make_repository(tmp_path / "r")
    one = asyncio.run(worktree.add(repo, "effect-1"))
    with pytest.raises(UsageError, match="already"):
        asyncio.run(worktree.add(repo, "effect-1"))
    shutil.rmtree(one.folder)
    assert asyncio.run(worktree.add(repo, "effect-1")).folder == one.folder


@pytest.mark.parametrize("name", ["-x", "a..b", "/a", "a//b", "a.lock", "a b", "a\n", "", "x" * 201, "a@{b", "a/"])
def test_what_is_no_branch_is_refused(name: str) -> None:
    with pytest.raises(UsageError):
        check_branch(name)


def test_outside_of_a_repository_the_user_is_informed(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not inside a git repository"):
        asyncio.run(Git(tmp_path).top())


SAFE = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}


@pytest.mark.parametrize("variables", [SAFE, {"GIT_CONFIG_PARAMETERS": "'safe.directory=*'"}])
def test_a_repository_of_another_user_is_safe_where_the_environment_says_so(
    tmp_path: Path, variables: dict[str, str]
) -> None:
    repo = make_repository(tmp_path / "r")
    program = tmp_path / "bin/git"  # with git's own way to test this without a second user
    write(tmp_path, {"bin/git": f'#!/bin/sh\nGIT_TEST_ASSUME_DIFFERENT_OWNER=1 exec {shutil.which("git")} "$@"\n'})
    program.chmod(0o755)
    others = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"}
    with pytest.raises(UsageError, match="another user owns it") as refused:
        asyncio.run(Git(repo.folder, others).top())
    assert "safe.directory" in (refused.value.remedy or "")
    assert asyncio.run(Git(repo.folder, {**others, **variables}).top()) == repo.folder


@pytest.mark.parametrize(
    ("settings", "author"),
    [
        ({}, "Bridle <bridle@localhost>"),
        ({"user.email": "a@b"}, "Bridle <a@b>"),
        ({"user.email": "a@b", "user.name": " . "}, "Bridle <a@b>"),
        ({"user.name": "A"}, "A <bridle@localhost>"),
        ({"user.email": "a@b", "user.name": "A"}, "A <a@b>"),
    ],
)
def test_what_is_missing_of_an_identity_is_filled_in(tmp_path: Path, settings: dict[str, str], author: str) -> None:
    repo = make_repository(tmp_path / "r")
    git(repo.folder, "config", "user.useConfigOnly", "true")
    for name, value in settings.items():
        git(repo.folder, "config", name, value)
    write(repo.folder, {"a.txt": "x"})
    assert asyncio.run(commit(repo, "s\n")) is not None
    assert git(repo.folder, "log", "-1", "--format=%an <%ae>").strip() == author


def test_a_refusal_of_git_is_reported_with_its_words(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    with pytest.raises(GitError, match="exited 128"):
        asyncio.run(repo.run("cat-file", "-p", "0" * 40))


def test_settings_are_read_again_after_any_change_of_their_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SETTLED_NANOSECONDS", "SETTLED_FINE_NANOSECONDS"):
        monkeypatch.setattr(known_folders, name, -(10**12))  # no file counts as new: its stamp decides
    repo = make_repository(tmp_path / "r")
    config = repo.folder / ".git/config"
    git(repo.folder, "config", "some.name", "aaaa")

    async def value() -> str | None:
        return (await repo.settings()).get("some.name")

    assert [asyncio.run(value()) for _ in range(3)] == ["aaaa"] * 3
    before = config.stat()
    with config.open("r+b") as file:  # in place, with the same size
        data = file.read()
        file.seek(data.index(b"aaaa"))
        file.write(b"bbbb")
    os.utime(config, ns=(before.st_atime_ns, before.st_mtime_ns))  # an agent can set the mtime back
    assert asyncio.run(value()) == "bbbb"
    config.rename(tmp_path / "config")
    config.write_bytes((tmp_path / "config").read_bytes().replace(b"bbbb", b"cccc"))
    assert asyncio.run(value()) == "cccc"
    config.write_bytes(data)
    assert [asyncio.run(value()) for _ in range(2)] == ["aaaa"] * 2


def test_a_lock_of_another_git_is_waited_for(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    lock, index = repo.folder / ".git/index.lock", repo.folder / ".git/index"
    data, facts = index.read_bytes(), index.stat()
    for write_index in (lambda: repo.run("read-tree", "--empty"), lambda: put_index(index, data, facts)):
        lock.touch()
        threading.Timer(0.3, lock.unlink).start()
        asyncio.run(write_index())
        assert not lock.exists()
    assert index.read_bytes() == data


def test_a_lock_that_stays_is_refused_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git_command, "LOCK_SECONDS", 0.2)
    repo = make_repository(tmp_path / "r")
    index = repo.folder / ".git/index"
    data, facts = index.read_bytes(), index.stat()
    (repo.folder / ".git/index.lock").touch()
    for write_index in (lambda: repo.run("read-tree", "--empty"), lambda: put_index(index, data, facts)):
        with pytest.raises(GitError, match=r"another git has held .*/\.git/index\.lock for") as refusal:
            asyncio.run(write_index())
        assert "rm " in (refusal.value.remedy or "")
    assert index.read_bytes() == data


def test_an_index_that_cannot_be_written_is_no_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git_command, "LOCK_SECONDS", 0.1)
    facts = tmp_path.stat()
    with pytest.raises(GitError, match=r"cannot create .*gone/index\.lock"):
        asyncio.run(put_index(tmp_path / "gone/index", b"", facts))


@pytest.mark.parametrize(
    ("exit_code", "output", "cause", "remedy"),
    [
        (-25, "", "was ended by SIGXFSZ, because the limit on file sizes", "ulimit -f"),
        (-24, "", "SIGXCPU", "ulimit -t"),
        (-9, "", "SIGKILL", "memory"),
        (-250, "", "signal 250", "Run the same command"),
        (128, "fatal: sha1 file 'index.lock' write error. Out of diskspace", "Out of diskspace", "Free some space"),
        (128, "error: unable to write file: Disk quota exceeded", "Disk quota", "disk quota"),
        (128, "error: could not open 'x': Read-only file system", "Read-only", "read-only"),
        (128, "fatal: unable to create thread: Resource temporarily unavailable", "thread", "ulimit -u"),
        (128, "fatal: cannot open 'x': Too many open files", "Too many", "ulimit -n"),
        (128, "fatal: anything else", "anything else", "Run the same command"),
    ],
)
def test_a_shortage_of_the_machine_is_named_with_what_to_do(
    tmp_path: Path, exit_code: int, output: str, cause: str, remedy: str
) -> None:
    result = QueryResult(b"", output.encode(), exit_code)
    with pytest.raises(GitError, match=cause) as failure:
        git_command.check_output(("status",), tmp_path, result)
    assert remedy in (failure.value.remedy or "")

"""A restore brings back every byte and every mark, whatever git's settings, attributes and ignore rules say."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from bridle.workspace import snapshot
from bridle.workspace.git import Git
from bridle.workspace.restore import restore
from tests.workspace.fixtures.repositories import git, index, make_repository, read_tree, write

TEXT = "a $Id: mine $\r\nb\nc\r\n"


def commit_all(folder: Path) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "more")


@pytest.mark.parametrize(
    ("attributes", "encoding"),
    [
        ("* text=auto\n", "utf-8"),
        ("*.txt text eol=crlf\n", "utf-8"),
        ("*.txt text eol=lf\n", "utf-8"),
        ("*.txt ident\n", "utf-8"),
        ("[cdu]*.txt working-tree-encoding=UTF-16\n", "utf-16"),
        ("*.txt filter=upper\n", "utf-8"),
    ],
)
def test_attributes_change_no_byte(tmp_path: Path, attributes: str, encoding: str) -> None:
    repo = make_repository(tmp_path / "r")
    git(repo.folder, "config", "filter.upper.clean", "tr a-z A-Z")
    git(repo.folder, "config", "filter.upper.required", "true")
    odd = TEXT.encode(encoding)
    write(repo.folder, {".gitattributes": attributes, "clean.txt": odd, "deep/dirty.txt": "x\n".encode(encoding)})
    commit_all(repo.folder)
    write(repo.folder, {"deep/dirty.txt": odd, "untracked.txt": odd})
    assert "clean.txt" not in git(repo.folder, "status", "--porcelain")
    before, staged = read_tree(repo.folder), index(repo.folder)
    taken = asyncio.run(snapshot.take(repo))
    write(repo.folder, dict.fromkeys(("clean.txt", "deep/dirty.txt", "untracked.txt"), "bad"))
    asyncio.run(restore(Git(repo.folder), taken))
    assert (read_tree(repo.folder), index(repo.folder)) == (before, staged)
    assert "clean.txt" not in git(repo.folder, "status", "--porcelain")


def test_line_ends_of_the_settings_change_no_byte(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    git(repo.folder, "config", "core.autocrlf", "input")
    write(repo.folder, {"clean.txt": TEXT})
    commit_all(repo.folder)
    before = read_tree(repo.folder)
    taken = asyncio.run(snapshot.take(repo))
    write(repo.folder, {"clean.txt": "bad"})
    asyncio.run(restore(repo, taken))
    assert read_tree(repo.folder) == before


def test_ignore_rules_of_an_included_file_of_settings_hold(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    git(repo.folder, "config", "include.path", "../settings")
    write(repo.folder, {"settings": f"[core]\n\texcludesFile = {tmp_path}/rules\n"})
    write(tmp_path, {"rules": "*.secret\n"})
    write(repo.folder, {"a.secret": "s"})
    taken = asyncio.run(snapshot.take(repo))
    assert "a.secret" not in git(repo.folder, "ls-tree", "--name-only", taken.tree)


@pytest.mark.parametrize("mark", ["--skip-worktree", "--assume-unchanged"])
def test_a_marked_file_comes_back_and_keeps_its_mark(tmp_path: Path, mark: str) -> None:
    repo = make_repository(tmp_path / "r")
    git(repo.folder, "update-index", mark, "a.txt", "sub/b.txt")
    write(repo.folder, {"a.txt": "my own\n"})
    before, marks = read_tree(repo.folder), git(repo.folder, "ls-files", "-v")
    taken = asyncio.run(snapshot.take(repo))
    write(repo.folder, {"a.txt": "bad\n", "sub/b.txt": "bad\n", "new": "n"})
    asyncio.run(restore(repo, taken))
    assert (read_tree(repo.folder), git(repo.folder, "ls-files", "-v")) == (before, marks)
    (repo.folder / "a.txt").unlink()
    asyncio.run(restore(repo, taken))
    assert (read_tree(repo.folder), git(repo.folder, "ls-files", "-v")) == (before, marks)


@pytest.mark.parametrize("settings", [[], ["index.sparse=true"], ["core.splitIndex=true"]])
def test_a_sparse_checkout_stays_sparse_and_what_is_outside_of_it_is_seen(tmp_path: Path, settings: list[str]) -> None:
    repo = make_repository(tmp_path / "r")
    write(repo.folder, {"in/x": "x", "out/deep/y": "y", "out/z": "z"})
    commit_all(repo.folder)
    git(repo.folder, "sparse-checkout", "set", "--cone", "in")
    for setting in settings:
        git(repo.folder, "config", *setting.split("="))
    git(repo.folder, "sparse-checkout", "reapply")
    write(repo.folder, {"out/z": "mine"})
    before, marks = read_tree(repo.folder), git(repo.folder, "ls-files", "-v")
    taken = asyncio.run(snapshot.take(repo))
    assert git(repo.folder, "show", f"{taken.tree}:out/deep/y") == "y"
    assert git(repo.folder, "show", f"{taken.tree}:out/z") == "mine"
    write(repo.folder, {"in/x": "bad", "out/z": "bad", "out/new": "bad", "out/deep/y": "bad"})
    asyncio.run(restore(repo, taken))
    assert (read_tree(repo.folder), git(repo.folder, "ls-files", "-v")) == (before, marks)
    assert git(repo.folder, "fsck", "--no-dangling") == ""


def test_what_a_sparse_checkout_leaves_out_is_in_a_snapshot_also_with_conversions(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    write(repo.folder, {".gitattributes": "* text=auto\n", "in/x": "x\n", "out/y": "y\n"})
    commit_all(repo.folder)
    git(repo.folder, "sparse-checkout", "set", "--cone", "in")
    taken = asyncio.run(snapshot.take(repo))
    assert git(repo.folder, "show", f"{taken.tree}:out/y") == "y\n"
    asyncio.run(restore(repo, taken))
    assert git(repo.folder, "status", "--porcelain") == ""
    assert not (repo.folder / "out").exists()


def test_a_tracked_file_that_a_rule_ignores_is_restored_and_one_that_has_not_changed_is_not_written(
    tmp_path: Path,
) -> None:
    repo = make_repository(tmp_path / "r")
    write(repo.folder, {".gitignore": "*.gen\n", "changed.gen": "1", "same.gen": "1"})
    git(repo.folder, "add", "--force", "-A")
    git(repo.folder, "commit", "-q", "-m", "more")
    before, written_at = read_tree(repo.folder), (repo.folder / "same.gen").stat().st_ctime_ns
    taken = asyncio.run(snapshot.take(repo))
    write(repo.folder, {"changed.gen": "2"})
    asyncio.run(restore(repo, taken))
    assert read_tree(repo.folder) == before
    assert (repo.folder / "same.gen").stat().st_ctime_ns == written_at


def test_what_changed_ignore_rules_hid_is_removed_and_kept_and_what_they_showed_stays(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    write(repo.folder, {"ignored/mine": "secret", "mine": "untracked"})
    taken = asyncio.run(snapshot.take(repo))
    hidden: dict[str, str | bytes] = {"hidden/x": "work", "hidden/skip": "s", "sub/.gitignore": "y\n", "sub/y": "y"}
    write(repo.folder, {".gitignore": "hidden/\nmine\n", "ignored/new": "n", **hidden})
    git(repo.folder, "add", "ignored/new")
    undone = asyncio.run(snapshot.take(repo, name="undone"))
    assert "hidden/x" not in git(repo.folder, "ls-tree", "-r", "--name-only", undone.tree)
    asyncio.run(restore(repo, taken, keep=undone, is_kept=lambda name: not name.endswith("skip")))
    tree = read_tree(repo.folder)
    assert set(tree) == {".gitignore", "a.txt", "sub/b.txt", "mine", "ignored/mine", "ignored/new"}
    assert tree["ignored/mine"] == ("file", b"secret")
    assert git(repo.folder, "status", "--porcelain") == "?? mine\n"
    kept = git(repo.folder, "ls-tree", "-r", "--name-only", undone.ref).split()
    assert {"hidden/x", "sub/y", "sub/.gitignore"} <= set(kept)
    assert "hidden/skip" not in kept
    assert git(repo.folder, "show", f"{undone.ref}:.gitignore") == "hidden/\nmine\n"
    assert asyncio.run(snapshot.find(repo, "undone")) is not None


def test_any_number_of_nested_repositories_without_a_commit_is_left_out(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    for number in range(20):
        git(repo.folder, "init", "-q", f"nested/{number}")
    write(repo.folder, {"new": "n", "nested/1/x": "x"})
    taken = asyncio.run(snapshot.take(repo))
    assert git(repo.folder, "ls-tree", "-r", "--name-only", taken.tree).split() == [
        ".gitignore",
        "a.txt",
        "new",
        "sub/b.txt",
    ]
    write(repo.folder, {"new": "bad"})
    asyncio.run(restore(repo, taken))
    assert (repo.folder / "nested/1/x").read_text() == "x"


def test_files_that_git_cannot_convert_are_left_out_of_a_commit(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    git(repo.folder, "config", "filter.broken.clean", "false")
    git(repo.folder, "config", "filter.broken.required", "true")
    git(repo.folder, "config", "core.safecrlf", "true")
    attributes = "*.wide working-tree-encoding=UTF-16\n*.bin filter=broken\n*.crlf text eol=crlf\n"
    write(
        repo.folder, {".gitattributes": attributes, "a.wide": "no mark", "b c.bin": "x", "b.bin": "x", "c.crlf": "x\n"}
    )
    tree = asyncio.run(snapshot.tree_of_all(repo, as_committed=True))
    names = git(repo.folder, "ls-tree", "--name-only", tree).split()
    assert names == [".gitattributes", ".gitignore", "a.txt", "c.crlf", "sub"]


def test_a_submodule_with_changes_of_its_own_is_left_alone(tmp_path: Path) -> None:
    lib, repo = make_repository(tmp_path / "lib"), make_repository(tmp_path / "r")
    git(repo.folder, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(lib.folder), "lib")
    commit_all(repo.folder)
    git(repo.folder, "config", "submodule.recurse", "true")
    write(repo.folder, {"lib/a.txt": "mine\n", "lib/new": "n"})
    taken = asyncio.run(snapshot.take(repo))
    write(repo.folder, {"a.txt": "bad"})
    asyncio.run(restore(repo, taken))
    assert (repo.folder / "a.txt").read_text() == "one\n"
    assert (repo.folder / "lib/a.txt").read_text() == "mine\n"
    assert os.path.exists(repo.folder / "lib/new")


def test_a_commit_in_a_submodule_is_undone_and_stays_on_its_branch(tmp_path: Path) -> None:
    lib, repo = make_repository(tmp_path / "lib"), make_repository(tmp_path / "r")
    git(repo.folder, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(lib.folder), "lib")
    commit_all(repo.folder)
    first, taken = git(repo.folder / "lib", "rev-parse", "HEAD"), asyncio.run(snapshot.take(repo))
    write(repo.folder, {"lib/a.txt": "agent\n"})
    commit_all(repo.folder / "lib")
    write(repo.folder, {"lib/new": "uncommitted"})
    asyncio.run(restore(repo, taken))
    assert git(repo.folder / "lib", "rev-parse", "HEAD") == first
    assert git(repo.folder / "lib", "show", "main:a.txt") == "agent\n"
    assert git(repo.folder, "status", "--porcelain", "--ignore-submodules=untracked") == ""
    assert (repo.folder / "lib/new").exists()


def test_a_split_index_is_like_any(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    git(repo.folder, "config", "core.splitIndex", "true")
    git(repo.folder, "update-index", "--split-index")
    write(repo.folder, {"sub/b.txt": "mine\n"})
    before = read_tree(repo.folder)
    taken = asyncio.run(snapshot.take(repo))
    write(repo.folder, {"sub/b.txt": "bad\n", "new": "n"})
    asyncio.run(restore(repo, taken))
    assert read_tree(repo.folder) == before
    assert git(repo.folder, "status", "--porcelain") == " M sub/b.txt\n"


def test_a_file_that_our_output_goes_to_stays_also_if_the_snapshot_has_it(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    write(repo.folder, {"run.log": "of an earlier run\n"})
    taken = asyncio.run(snapshot.take(repo))
    now = Git(repo.folder)
    now.own_output = ("run.log",)
    write(repo.folder, {"run.log": "of this run\n", "a.txt": "bad\n"})
    asyncio.run(restore(now, taken))
    assert (repo.folder / "a.txt").read_text() == "one\n"
    assert (repo.folder / "run.log").read_text() == "of this run\n"

"""The output of git as files, hunks and lines: with names of all kinds, binary files, and limits."""

from __future__ import annotations

import os
from pathlib import Path

from bridle.views.run_data import git_diff
from bridle.views.run_data.commits import commit_diff, commit_documents
from bridle.wire.mask import Mask
from tests.workspace.fixtures.repositories import git


def commit(folder: Path, message: str) -> str:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", message)
    return git(folder, "rev-parse", "HEAD").strip()


def repository(folder: Path) -> Path:
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    return folder


def test_files_of_a_commit_keep_their_names_and_kinds(tmp_path: Path) -> None:
    here = repository(tmp_path / "r")
    (here / "moved.txt").write_text("one\ntwo\nthree\nfour\n")
    (here / "gone").write_text("x\n")
    commit(here, "first")
    (here / "moved.txt").rename(here / 'new "name"\n<b>.txt')
    (here / "gone").unlink()
    (here / "ä b").write_text("diff --git a/x b/x\n@@ -1 +1 @@\n")
    (here / "data").write_bytes(bytes(range(256)))
    second = commit(here, "second")
    found = commit_diff(here, second, os.environ, Mask())
    assert found is not None
    files = {file["path"]: file for file in found["files"]}
    assert {path: file["status"] for path, file in files.items()} == {
        'new "name"\n<b>.txt': "renamed",
        "gone": "deleted",
        "ä b": "added",
        "data": "added",
    }
    assert files['new "name"\n<b>.txt']["old_path"] == "moved.txt"
    assert files["data"]["is_binary"] is True
    assert files["ä b"]["hunks"][0]["lines"] == [
        ["+", None, 1, "diff --git a/x b/x"],
        ["+", None, 2, "@@ -1 +1 @@"],
    ]
    (document,) = commit_documents(here, [second], {second: "T"}, os.environ, Mask())
    assert document["task"] == "T"
    assert {file["path"]: (file["added"], file["removed"]) for file in document["files"]} == {
        'new "name"\n<b>.txt': (0, 0),
        "gone": (0, 1),
        "ä b": (2, 0),
        "data": (None, None),
    }


def test_the_first_commit_has_all_files_and_a_lost_one_none(tmp_path: Path) -> None:
    here = repository(tmp_path / "r")
    (here / "a").write_text("1\n2\n")
    first = commit(here, "first")
    found = commit_diff(here, first, os.environ, Mask())
    assert found is not None
    assert [file["path"] for file in found["files"]] == ["a"]
    lost = "0" * 40
    assert commit_diff(here, lost, os.environ, Mask()) is None
    (document,) = commit_documents(here, [lost], {}, os.environ, Mask())
    assert (document["commit"], document["files"]) == (lost, [])


def test_no_program_of_the_repository_runs(tmp_path: Path) -> None:
    here = repository(tmp_path / "r")
    witness = tmp_path / "witness"
    (here / ".gitattributes").write_text("* diff=evil filter=evil\n")
    (here / "a").write_text("1\n")
    first = commit(here, "first")
    for name in ("diff.evil.command", "diff.evil.textconv", "filter.evil.clean", "diff.external", "core.fsmonitor"):
        git(here, "config", name, f"touch {witness}")
    assert commit_diff(here, first, os.environ, Mask()) is not None
    assert not witness.exists()


def test_secrets_in_a_diff_are_masked(tmp_path: Path) -> None:
    here = repository(tmp_path / "r")
    (here / "a").write_text("key = sk-abcdefghijklmnopqrstuvwx\n")
    found = commit_diff(here, commit(here, "first"), os.environ, Mask())
    assert found is not None
    assert found["files"][0]["hunks"][0]["lines"] == [["+", None, 1, "key = ***"]]


def test_a_long_diff_is_cut_and_counted() -> None:
    lines = "".join(f"+{number}\n" for number in range(git_diff.FILE_LINES + 10))
    section = f"--- /dev/null\n+++ b/a\n@@ -0,0 +1,{git_diff.FILE_LINES + 10} @@\n{lines}"
    (file,) = git_diff.parse_diff([section], [{"path": "a", "old_path": None, "status": "added"}], Mask())
    assert len(file["hunks"][0]["lines"]) == git_diff.FILE_LINES
    assert file["omitted"] == 10

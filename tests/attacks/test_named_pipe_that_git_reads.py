"""Attack: named pipes where git reads a file: `.gitattributes`, `.gitignore`, files of `.git`. Git waits on them.

The agent wants to stop the run and the commands of the user. Those in `.git` are removed before git starts; of those in
the working copy git is let go after moments, then they are removed. All are reported.

With the sandbox: the same; the working copy is writable.
Without: removed before git waits on it.
Reported: in the receipt, by name.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bridle.workspace import git_command
from bridle.workspace.git_folder import special_files
from tests.loop.fixtures.repositories import make_repository

IN_GIT = (
    "MERGE_HEAD",
    "packed-refs",
    "shallow",
    "refs/heads/ff",
    "objects/info/alternates",
    "commondir",
    "info/grafts",
)
# A limit that only a git that waits for a pipe reaches.
LIMIT_SECONDS = 100.0


@pytest.mark.without_sandbox("changes what the sandbox protects")
def test_the_iteration_goes_on_and_names_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git_command, "PATIENCE_SECONDS", 0.2)
    monkeypatch.setattr(git_command, "LIMIT_SECONDS", LIMIT_SECONDS)
    here = make_repository(tmp_path / "r", {"a": "", "sub/b": "", ".gitignore": "x\n"}, checks=("true",))
    here.start()
    (here.folder / ".gitignore").unlink()
    for name in (*(f".git/{name}" for name in IN_GIT), ".gitattributes", ".gitignore", "sub/.gitignore"):
        os.mkfifo(here.folder / name)
    (here.folder / ".git" / "MERGE_MODE").symlink_to("/dev/zero")
    os.mkfifo(here.folder / "mine")
    assert len(special_files.clear_git_folder(here.folder)) == len(IN_GIT) + 1
    assert special_files.find_in_git_folder(here.folder) == {}, "before any git has waited for them"
    for name in IN_GIT:
        os.mkfifo(here.folder / ".git" / name)
    (here.folder / ".git" / "MERGE_MODE").symlink_to("/dev/zero")
    reported = {report["path"] for report in here.protect()["reported"]}
    removed = {*(f".git/{name}" for name in (*IN_GIT, "MERGE_MODE"))}
    assert removed <= reported
    assert {".gitattributes", ".gitignore", "sub/.gitignore"} & reported
    assert not any(os.path.lexists(here.folder / name) for name in removed)
    assert here.check("mkfifo .git/shallow; true")["passed"]
    assert any(".git/shallow: it was a named pipe" in line for line in here.printed)
    assert (here.folder / "mine").is_fifo()
    assert special_files.find_in_files(here.folder) == []

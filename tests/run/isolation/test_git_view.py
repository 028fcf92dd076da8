"""What a sandboxed program changed in the private git folder is copied back, by git's own locks."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from bridle.errors import DiskError
from bridle.run.isolation import git_view, replaced_files
from bridle.run.isolation.git_view import GitView


def make(tmp_path: Path) -> GitView:
    folder = tmp_path / "git"
    (folder / "sequencer").mkdir(parents=True)
    (folder / "index").write_text("before")
    (folder / "sequencer/todo").write_text("before")
    view = git_view.make_view(folder, tmp_path / "private", is_linked=False)
    (view.private / "index").write_text("of the agent")
    (view.private / "ORIG_HEAD").write_text("of the agent")
    (view.private / "sequencer/todo").write_text("of the agent")
    return view


def contents(view: GitView) -> dict[str, str]:
    return {str(path.relative_to(view.folder)): path.read_text() for path in view.folder.rglob("*") if path.is_file()}


CHANGED = {"index": "of the agent", "ORIG_HEAD": "of the agent", "sequencer/todo": "of the agent"}


def test_changed_files_are_copied_back(tmp_path: Path) -> None:
    view = make(tmp_path)
    git_view.copy_back(view)
    assert contents(view) == CHANGED


def test_an_index_that_another_git_writes_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    view = make(tmp_path)
    monkeypatch.setattr(replaced_files, "_LOCK_TRIES", 2)
    (view.folder / "index.lock").write_text("of another git")
    git_view.copy_back(view)
    assert contents(view) == {**CHANGED, "index": "before", "index.lock": "of another git"}


def test_what_another_program_has_changed_too_is_left(tmp_path: Path) -> None:
    view = make(tmp_path)
    (view.folder / "index").write_text("of another git")
    (view.folder / "ORIG_HEAD").write_text("of another git")
    git_view.copy_back(view)
    assert contents(view) == {**CHANGED, "index": "of another git", "ORIG_HEAD": "of another git"}


def test_a_failure_is_named_and_the_others_are_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    view = make(tmp_path)
    real = os.replace

    def fails_for_index(source: Path, target: Path) -> None:
        if target.name == "index":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(source, target)

    monkeypatch.setattr(os, "replace", fails_for_index)
    with pytest.raises(DiskError) as caught:
        git_view.copy_back(view)
    assert "cannot write index of" in caught.value.message
    assert caught.value.payload == errno.ENOSPC
    assert contents(view) == {**CHANGED, "index": "before"}


@pytest.mark.parametrize(
    ("content", "is_kept"),
    [
        ("ref: refs/heads/other\n", True),
        ("1" * 40 + "\n", True),
        ("2" * 64, True),
        ("", False),
        ("garbage\n", False),
        ("ref: ../../elsewhere\n", False),
        ("ref: refs/heads/other\nmore\n", False),
    ],
)
def test_a_head_is_copied_back_if_it_names_a_branch_or_a_commit(tmp_path: Path, content: str, *, is_kept: bool) -> None:
    folder = tmp_path / "git"
    folder.mkdir()
    (folder / "HEAD").write_text("ref: refs/heads/main\n")
    view = git_view.make_view(folder, tmp_path / "private", is_linked=False)
    (view.private / "HEAD").write_text(content)
    git_view.copy_back(view)
    assert (folder / "HEAD").read_text() == (content if is_kept else "ref: refs/heads/main\n")

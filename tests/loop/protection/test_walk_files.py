"""The walk over a working copy finds what was added since the walk before, and lists no folder without changes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from bridle.ground.files import known_folders
from bridle.loop.protection.recorded import walk_files
from bridle.loop.protection.recorded.walk_files import walk


@pytest.fixture(autouse=True)
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every folder has not changed for long enough to be kept."""
    monkeypatch.setattr(known_folders, "SETTLED_NANOSECONDS", -(10**12))
    monkeypatch.setattr(known_folders, "SETTLED_FINE_NANOSECONDS", -(10**12))


@pytest.fixture
def top(tmp_path: Path) -> Path:
    for name in ("a/b/c", "node_modules/x", ".a5c/runs", ".vscode"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("a/file", "node_modules/x/.envrc", ".a5c/runs/.envrc", ".vscode/other.json"):
        (tmp_path / name).touch()
    assert walk(tmp_path) == walk_files.Walked((), ())
    return tmp_path


def test_a_repository_and_startup_files_that_appear_are_found(top: Path) -> None:
    before = (top / "a/b/c").stat()
    (top / "a/b/c/.git").mkdir()
    (top / "a/b/c/.envrc").touch()
    (top / ".vscode/tasks.json").touch()  # in a folder that was there
    (top / "a/b/project.code-workspace").touch()
    os.utime(top / "a/b/c", ns=(before.st_atime_ns, before.st_mtime_ns))
    (top / "node_modules/x/.git").touch()
    found = walk(top)
    assert {*found.repositories} == {top / "a/b/c", top / "node_modules/x"}
    assert found.startup == (".vscode/tasks.json", "a/b/project.code-workspace", "a/b/c/.envrc")
    (top / "a/b/c/.envrc").unlink()
    assert ".envrc" not in str(walk(top).startup)


def test_a_file_that_becomes_a_folder_is_entered(top: Path) -> None:
    (top / "a/file").unlink()
    (top / "a/file").mkdir()
    (top / "a/file/.git").touch()
    assert walk(top).repositories == (top / "a/file",)


def test_folders_without_changes_are_not_listed_again(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = []
    scandir = os.scandir

    def note(folder: str) -> Any:
        listed.append(folder)
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", note)
    walk(top)
    assert listed == []
    (top / "a/b/new").touch()
    walk(top)
    assert listed == [str(top / "a/b")]

"""The tracked names are those that git lists; an index that is not understood gives none."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from bridle.ground.git_index import tracked_names

NAMES = ("a", "deep/er/name", "name with space", "x" * 200, ".claude/settings.local.json")


def git(folder: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=folder, capture_output=True, check=True).stdout


@pytest.fixture
def work(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q")
    for name in NAMES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    return tmp_path


@pytest.mark.parametrize("arguments", [("add", "-A"), ("add", "-A", "-N")])
def test_the_names_are_those_of_git(work: Path, arguments: tuple[str, ...]) -> None:
    assert tracked_names(work) == []
    git(work, *arguments)
    listed = git(work, "ls-files", "-z").split(b"\0")[:-1]
    assert len(listed) == len(NAMES)
    assert tracked_names(work) == listed


def test_an_index_with_shared_beginnings_is_not_understood(work: Path) -> None:
    git(work, "add", "-A")
    git(work, "update-index", "--index-version", "4")
    assert tracked_names(work) is None


def test_a_shared_index_is_not_understood(work: Path) -> None:
    git(work, "add", "-A")
    git(work, "update-index", "--split-index")
    assert tracked_names(work) is None


def test_a_cut_index_is_not_understood(work: Path) -> None:
    git(work, "add", "-A")
    index = work / ".git" / "index"
    index.write_bytes(index.read_bytes()[:200])
    assert tracked_names(work) is None


def test_outside_of_a_repository_nothing_is_known(tmp_path: Path) -> None:
    assert tracked_names(tmp_path) is None

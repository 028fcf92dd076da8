"""Files below a folder: what is missing is told without opening folders, and no link on the way is followed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bridle.ground.files import files_below


@pytest.fixture
def top(tmp_path: Path) -> Path:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/file").write_bytes(b"content")
    (tmp_path / "link").symlink_to("folder")
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "pipe")
    return tmp_path


@pytest.mark.parametrize(
    "name",
    ["missing", "folder/missing", "missing/file", "folder/file/file", "link/missing", "nul\0", "", "../x", "/etc/x"],
)
def test_nothing_is_found_where_nothing_is(top: Path, name: str) -> None:
    assert files_below.read(top, name, 100) is None
    assert files_below.listed(top, name) == [*files_below.walk(top, name)] == []


@pytest.mark.parametrize(
    "name", ["link/file", "loop/file", "link", "loop", "pipe", "folder", "../" * 20 + "etc/passwd"]
)
def test_what_is_behind_a_link_or_no_file_is_not_read(top: Path, name: str) -> None:
    assert files_below.read(top, name, 100) is None


def test_a_file_is_read_and_a_folder_listed(top: Path) -> None:
    assert files_below.read(top, "folder/file", 7) == b"content"
    assert files_below.read(top, "folder/file", 6) is None
    assert files_below.listed(top, "folder") == ["file"]
    assert [*files_below.walk(top, "folder")] == ["folder/file"]
    assert files_below.listed(top, "link") == [*files_below.walk(top, "link")] == []


def test_for_a_missing_file_no_folder_is_opened(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files_below, "parent", None)
    assert files_below.read(top, "folder/missing", 100) is None
    assert files_below.listed(top, "folder/missing") == [*files_below.walk(top, "missing/folder")] == []

"""Folders in which git has nothing to store are found, also those with many files, and with folders known before."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bridle.ground.files import known_folders
from bridle.loop.checks import bare_folders

MANY = 50


@pytest.fixture(params=["kept", "listed"])
def top(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working copy; "kept": what is in its folders is known from an earlier look."""
    if request.param == "kept":
        monkeypatch.setattr(known_folders, "SETTLED_NANOSECONDS", -(10**12))
    for name in ("source/inner", "empty/below", "hidden", "mixed", "nested/.git", "node_modules/x", "cache"):
        (tmp_path / name).mkdir(parents=True)
    for number in range(MANY):
        (tmp_path / f"hidden/{number}").touch()
        (tmp_path / f"mixed/{number}").touch()
    (tmp_path / "source/inner/file").touch()
    return tmp_path


def test_folders_without_a_file_for_git(top: Path) -> None:
    ignored = {f"{folder}/{number}" for folder in ("hidden", "mixed") for number in range(MANY)} | {"cache/"}
    bare = {"empty/", "empty/below/", "hidden/"}
    for _ in range(2):
        assert {*bare_folders._find(top, ignored)} == {*bare, "mixed/"}
    (top / "mixed/one").symlink_to("nowhere")
    (top / "source/inner/file").unlink()
    os.mkfifo(top / "source/pipe")
    assert {*bare_folders._find(top, ignored)} == {*bare, "source/", "source/inner/", "source/pipe"}
    (top / "empty/below/file").touch()
    assert {*bare_folders._find(top, ignored)} == {"hidden/", "source/", "source/inner/", "source/pipe"}

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from bridle.agent.tools.files.save import Cancelled, ChangedOnDisk, save
from tests.agent.fixtures.file_tool_calls import leftover_files


def test_a_file_that_changed_between_the_check_and_the_writing_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    checked = path.stat()
    path.write_text("somebody's")
    with pytest.raises(ChangedOnDisk):
        save(path, b"ours", expected=checked, cancelled=threading.Event())
    assert path.read_text() == "somebody's"
    assert leftover_files(tmp_path) == []


def test_a_file_that_vanished_between_the_check_and_the_writing_stays_gone(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    checked = path.stat()
    other = tmp_path / "b"
    other.write_text("old")
    os.utime(other, ns=(checked.st_atime_ns, checked.st_mtime_ns))
    os.replace(other, path)
    with pytest.raises(ChangedOnDisk):
        save(path, b"ours", expected=checked, cancelled=threading.Event())
    assert path.read_text() == "old"


def test_a_file_created_in_between_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("somebody's")
    with pytest.raises(ChangedOnDisk):
        save(path, b"ours", expected=None, cancelled=threading.Event())
    assert path.read_text() == "somebody's"
    assert leftover_files(tmp_path) == []


def test_nothing_is_written_for_a_cancelled_call(tmp_path: Path) -> None:
    given_up = threading.Event()
    given_up.set()
    path = tmp_path / "a"
    with pytest.raises(Cancelled):
        save(path, b"ours", expected=None, cancelled=given_up)
    path.write_text("old")
    with pytest.raises(Cancelled):
        save(path, b"ours", expected=path.stat(), cancelled=given_up)
    assert path.read_text() == "old"
    assert leftover_files(tmp_path) == []


def test_the_returned_state_is_the_state_on_disk(tmp_path: Path) -> None:
    path = tmp_path / "a"
    state = save(path, b"one", expected=None, cancelled=threading.Event())
    assert (state.st_mtime_ns, state.st_size) == (path.stat().st_mtime_ns, 3)
    state = save(path, b"three", expected=path.stat(), cancelled=threading.Event())
    assert (state.st_mtime_ns, state.st_size, state.st_ino) == (path.stat().st_mtime_ns, 5, path.stat().st_ino)

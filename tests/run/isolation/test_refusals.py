"""The file of refused commands comes from untrusted programs: only names of commands count."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bridle.run.isolation import refusals


def test_a_command_that_is_left_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    file = tmp_path / refusals.FILE_NAME
    file.touch()
    for command in ("run", "run:repair-journal", "receipt --sign"):
        refusals.leave(command)
    found: list[str] = []
    refusals.report(file, found.extend)
    assert found == ["run", "run:repair-journal", "receipt --sign"]


def test_other_text_does_not_count(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"run\n\x1b[31mred\nrm -rf /\nresume --max-cost 999\n\xff\n" + b"stop\n" * 10_000)
    found: list[str] = []
    refusals.report(file, found.extend)
    assert set(found) == {"run", "stop"}
    assert len(found) <= 50
    file.unlink()
    os.mkfifo(file)
    refusals.report(file, _unexpected)
    file.unlink()
    (tmp_path / "other").write_text("run\n")
    file.symlink_to(tmp_path / "other")
    refusals.report(file, _unexpected)


def _unexpected(commands: list[str]) -> None:
    raise AssertionError(commands)

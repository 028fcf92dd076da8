"""A child is started although the keeper, which starts it, was killed or stopped."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from bridle.ground.children import supervised_start
from bridle.ground.children.capture import capture
from bridle.ground.descendants import keeper_client

# A test that takes longer than this has hung.
HANG_SECONDS = 60.0


def exit_code_of(script: str) -> int | None:
    run = capture(("sh", "-c", script), cwd=Path("/"), environment=os.environ, limit_seconds=HANG_SECONDS)
    return asyncio.run(run).exit_code


def keeper_pid() -> int:
    keeper = keeper_client._client._keeper
    assert keeper is not None
    return keeper.process.pid


@pytest.mark.parametrize("sig", [signal.SIGKILL, signal.SIGSTOP])
def test_a_keeper_that_is_lost_is_replaced(sig: signal.Signals, monkeypatch: pytest.MonkeyPatch) -> None:
    assert exit_code_of("exit 3") == 3
    lost = keeper_pid()
    if sig == signal.SIGSTOP:  # waited for to the limit; a new keeper must be faster, also on a loaded machine
        monkeypatch.setattr(supervised_start, "START_SECONDS", 5.0)
    os.kill(lost, sig)
    assert exit_code_of("exit 4") == 4
    assert keeper_pid() != lost


def test_a_program_is_searched_in_the_path_of_the_child(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
        (folder / "tool").write_text(f"#!/bin/sh\necho {folder.name}\n")
    (second / "tool").chmod(0o755)  # the first one cannot be executed
    environment = {"PATH": f"{first}:/nowhere:{second}"}
    run = capture(("tool",), cwd=tmp_path, environment=environment, limit_seconds=HANG_SECONDS)
    assert asyncio.run(run).stdout == b"second\n"


def test_a_relative_folder_is_one_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "inner").mkdir()
    monkeypatch.chdir(tmp_path)
    run = capture(("pwd",), cwd=Path("inner"), environment=os.environ, limit_seconds=HANG_SECONDS)
    assert asyncio.run(run).stdout == f"{tmp_path / 'inner'}\n".encode()

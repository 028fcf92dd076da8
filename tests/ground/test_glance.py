"""A short command is asked for a fact, and can neither hang nor flood us."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest

from bridle.ground.children.glance import glance

LIMIT_SECONDS = 60.0
ENVIRONMENT = {"PATH": os.environ["PATH"], "GREETING": "hello"}


def asked(*argv: str, cwd: Path, seconds: float = LIMIT_SECONDS, limit: int = 10_000) -> bytes | None:
    return asyncio.run(glance(argv, cwd=cwd, environment=ENVIRONMENT, limit_seconds=seconds, limit_bytes=limit))


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def wait_gone(pid: int) -> None:
    deadline = time.monotonic() + LIMIT_SECONDS
    while not is_gone(pid):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_what_a_command_prints_comes_back(tmp_path: Path) -> None:
    assert asked("sh", "-c", "echo $GREETING; pwd; echo no >&2; cat", cwd=tmp_path.resolve()) == (
        f"hello\n{tmp_path.resolve()}\n".encode()
    )


def test_a_command_that_fails_or_is_not_there_tells_nothing(tmp_path: Path) -> None:
    assert asked("sh", "-c", "echo something; exit 3", cwd=tmp_path) is None
    assert asked("no-such-command-anywhere", cwd=tmp_path) is None
    assert asked("true", cwd=tmp_path / "missing") is None


def test_a_command_that_prints_for_ever_is_ended_at_the_limit(tmp_path: Path) -> None:
    output = asked("sh", "-c", f"echo $$ > {tmp_path}/pid; exec yes", cwd=tmp_path, limit=1000)
    assert output == b"y\n" * 500
    wait_gone(int((tmp_path / "pid").read_text("utf-8")))


def test_a_command_that_takes_too_long_is_ended_with_all_it_has_started(tmp_path: Path) -> None:
    script = f"sleep 1000 & echo $! > {tmp_path}/child; echo early; wait"
    assert asked("sh", "-c", script, cwd=tmp_path, seconds=0.5) is None
    wait_gone(int((tmp_path / "child").read_text("utf-8")))


def test_a_question_that_is_cancelled_leaves_no_process(tmp_path: Path) -> None:
    async def cancelled() -> None:
        script = f"echo $$ > {tmp_path}/new; mv {tmp_path}/new {tmp_path}/pid; exec sleep 1000"
        argv = ("sh", "-c", script)
        task = asyncio.ensure_future(
            glance(argv, cwd=tmp_path, environment=ENVIRONMENT, limit_seconds=LIMIT_SECONDS, limit_bytes=10)
        )
        deadline = time.monotonic() + LIMIT_SECONDS
        while not (tmp_path / "pid").exists():
            assert time.monotonic() < deadline
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert is_gone(int((tmp_path / "pid").read_text("utf-8")))

"""A command runs to its end within a limit, and everything it started ends with it."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bridle.errors import DiskError, ProcessError
from bridle.ground.children import capture as module
from bridle.ground.children import child_process
from bridle.ground.children.capture import CapturedOutput, capture

HANG_SECONDS = 60.0


def run(
    script: str,
    *,
    seconds: float = HANG_SECONDS,
    stdin: bytes | None = None,
    on_stdout: Callable[[bytes], None] | None = None,
    waits_for_output: bool = True,
) -> CapturedOutput:
    return asyncio.run(start(script, seconds, stdin, on_stdout, waits_for_output=waits_for_output))


async def start(
    script: str,
    seconds: float = HANG_SECONDS,
    stdin: bytes | None = None,
    on_stdout: Callable[[bytes], None] | None = None,
    *,
    waits_for_output: bool = True,
) -> CapturedOutput:
    return await capture(
        ("/bin/sh", "-c", script),
        cwd=Path.cwd(),
        environment={"PATH": os.environ["PATH"]},
        limit_seconds=seconds,
        stdin=stdin,
        on_stdout=on_stdout,
        waits_for_output=waits_for_output,
    )


def assert_gone(pid: int) -> None:
    deadline = time.monotonic() + HANG_SECONDS
    while True:
        try:
            if Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0] == "Z":
                return
        except OSError:
            return
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_the_output_and_the_exit_code_are_returned() -> None:
    assert run("cat; echo no >&2; exit 3", stdin=b"yes\n") == CapturedOutput(b"yes\n", b"no\n", 3)
    assert run("cat").stdout == b"", "without stdin a command reads an empty one"
    assert run("kill -9 $$").exit_code == -9


def test_a_command_may_leave_its_stdin_unread() -> None:
    assert run("exec <&-; echo done", stdin=b"x" * 10_000_000).stdout == b"done\n"


def test_a_callback_receives_the_output_instead() -> None:
    chunks: list[bytes] = []
    captured = run("echo one; echo two", on_stdout=chunks.append)
    assert (b"".join(chunks), captured.stdout, captured.exit_code) == (b"one\ntwo\n", b"", 0)


def test_a_callback_that_raises_ends_the_command(tmp_path: Path) -> None:
    def refuse(_: bytes) -> None:
        raise DiskError("the disk is full")

    with pytest.raises(DiskError, match="full"):
        run(f"echo $$ > {tmp_path}/pid; echo printed; exec sleep 600", on_stdout=refuse)
    assert_gone(int((tmp_path / "pid").read_text("utf-8")))


class FullLog(Exception):
    """The error of a callback."""


class ChildWithLateError:
    """A command that has exited, whose output was read, and whose callback failed after that."""

    stderr_tail, tap_error = b"", FullLog()

    async def read(self) -> None:
        return None

    async def wait(self, _seconds: float) -> int:
        return 0

    async def stop(self, *, timeouts: object) -> None:
        pass

    async def close(self) -> None:
        pass


@pytest.mark.parametrize("waits_for_output", [True, False])
def test_a_callback_that_raises_at_the_very_end_is_not_overheard(
    monkeypatch: pytest.MonkeyPatch, *, waits_for_output: bool
) -> None:
    async def start_child(*_words: object, **_options: object) -> ChildWithLateError:
        return ChildWithLateError()

    monkeypatch.setattr(child_process, "start", start_child)
    with pytest.raises(FullLog):
        run("", waits_for_output=waits_for_output)


def test_a_command_over_its_time_limit_ends_with_its_descendants(tmp_path: Path) -> None:
    captured = run(f"sleep 600 & echo $! > {tmp_path}/pid; echo early; wait", seconds=0.5)
    assert (captured.stdout, captured.exit_code) == (b"early\n", None)
    assert_gone(int((tmp_path / "pid").read_text("utf-8")))


def test_a_command_over_the_output_limit_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "OUTPUT_LIMIT_BYTES", 100_000)
    captured = run("yes")
    assert captured.exit_code is None
    assert len(captured.stdout) > 100_000


def test_a_background_process_is_waited_for_on_request_only(tmp_path: Path) -> None:
    (tmp_path / "go").touch()
    late = f"(while [ -e {tmp_path}/go ]; do :; done; echo late) & echo early; rm {tmp_path}/go"
    assert run(late).stdout == b"early\nlate\n"
    held = f"sleep 600 & echo $! > {tmp_path}/pid; echo early"
    captured = run(held, waits_for_output=False)
    assert (captured.stdout, captured.exit_code) == (b"early\n", 0)
    assert_gone(int((tmp_path / "pid").read_text("utf-8")))
    assert run(held, seconds=0.5).exit_code is None


def test_a_command_that_cannot_be_started_raises() -> None:
    with pytest.raises(ProcessError):
        asyncio.run(capture(("/nowhere",), cwd=Path.cwd(), environment={}, limit_seconds=1.0))
    with pytest.raises(ProcessError):
        asyncio.run(capture((sys.executable,), cwd=Path("/nowhere"), environment={}, limit_seconds=1.0))


def test_a_cancelled_command_ends_with_its_descendants(tmp_path: Path) -> None:
    pids = tmp_path / "pids"

    async def story() -> None:
        task = asyncio.create_task(start(f"sleep 600 & echo $! $$ > {pids}.new; mv {pids}.new {pids}; wait"))
        async with asyncio.timeout(HANG_SECONDS):
            while not pids.exists():
                await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(story())
    for pid in pids.read_text("utf-8").split():
        assert_gone(int(pid))

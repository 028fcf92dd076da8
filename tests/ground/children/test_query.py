"""A short command runs within limits of time and output, and leaves no process."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path

import pytest

from bridle.errors import ProcessError
from bridle.ground.children import exit_watch
from bridle.ground.children.query import query
from bridle.ground.children.query_result import QueryResult

HANG_SECONDS = 60.0


@pytest.fixture(params=["pidfd", "polled"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test runs in both ways; kernels without pidfd and files in memory have the second one alone."""
    if request.param == "polled":
        monkeypatch.setattr(exit_watch, "open_handle", lambda pid: None)
        monkeypatch.delattr(os, "memfd_create", raising=False)


def _run(
    code: str,
    *,
    seconds: float = HANG_SECONDS,
    size: int = 1_000_000,
    stdin: bytes | None = None,
    own_session: bool = False,
) -> QueryResult:
    return asyncio.run(_query(code, seconds, size, stdin, own_session=own_session))


async def _query(
    code: str,
    seconds: float = HANG_SECONDS,
    size: int = 1_000_000,
    stdin: bytes | None = None,
    *,
    own_session: bool = False,
) -> QueryResult:
    return await query(
        (sys.executable, "-I", "-c", code),
        cwd=Path.cwd(),
        environment={"MARK": "yes"},
        limit_seconds=seconds,
        limit_bytes=size,
        stdin=stdin,
        own_session=own_session,
    )


def _is_gone(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_the_output_and_the_exit_code_are_returned() -> None:
    code = "import os,sys; print(os.environ['MARK'], 'HOME' in os.environ); sys.exit(sys.stdin.read() or '!')"
    result = _run(code)
    assert (result.stdout, result.stderr, result.exit_code) == (b"yes False\n", b"!\n", 1)
    assert not result.timed_out
    assert not result.is_truncated


def test_a_command_reads_its_stdin() -> None:
    data = b"a line\n" * 500_000
    result = _run("import sys; sys.stdout.buffer.write(sys.stdin.buffer.read())", stdin=data, size=20_000_000)
    assert (result.stdout, result.exit_code) == (data, 0)


def test_a_command_may_leave_its_stdin_unread() -> None:
    result = _run("import sys; sys.stdin.close(); print('done')", stdin=b"x" * 10_000_000)
    assert (result.stdout, result.exit_code) == (b"done\n", 0)


def test_a_command_that_hangs_with_unread_stdin_is_killed() -> None:
    result = _run("import time; time.sleep(600)", stdin=b"x" * 10_000_000, seconds=0.5)
    assert (result.exit_code, result.timed_out) == (None, True)


@pytest.mark.parametrize("own_session", [True, False])
def test_a_command_has_a_session_of_its_own_on_request(*, own_session: bool) -> None:
    code = "import os; print(os.getsid(0) == os.getpid())"
    assert _run(code, own_session=own_session).stdout == f"{own_session}\n".encode()


def test_a_command_over_its_time_limit_is_killed_and_its_output_kept() -> None:
    result = _run("import time; print('first', flush=True); time.sleep(600)", seconds=1.0)
    assert (result.stdout, result.exit_code, result.timed_out) == (b"first\n", None, True)


@pytest.mark.parametrize("own_session", [True, False])
def test_a_command_over_its_output_limit_is_killed(*, own_session: bool) -> None:
    result = _run("while True: print('x' * 1000)", size=100_000, own_session=own_session)
    assert (len(result.stdout), result.exit_code, result.is_truncated) == (100_000, None, True)


def test_a_command_with_endless_stderr_is_not_blocked() -> None:
    result = _run("import sys; sys.stderr.write('x' * 3_000_000); print('done')")
    assert (result.stdout, len(result.stderr), result.exit_code) == (b"done\n", 64 * 1024, 0)


@pytest.mark.parametrize(("program", "folder"), [("/nowhere/program", "."), (sys.executable, "/nowhere")])
def test_a_command_that_cannot_be_started_raises(program: str, folder: str) -> None:
    with pytest.raises(ProcessError, match="could not be started"):
        asyncio.run(query((program,), cwd=Path(folder), environment={}, limit_seconds=1.0, limit_bytes=1))


def test_a_command_in_its_own_session_is_killed_with_what_it_started(tmp_path: Path) -> None:
    code = (
        "import os, time\n"  # nothing that takes time to import: a busy machine needs the second for the start
        "pid = os.fork()\n"
        f"if pid: open({str(tmp_path / 'pid')!r}, 'w').write(str(pid))\n"
        "time.sleep(600)"
    )
    result = _run(code, seconds=1.0, own_session=True)
    assert (result.exit_code, result.timed_out) == (None, True)
    deadline = time.monotonic() + HANG_SECONDS
    while not _is_gone((tmp_path / "pid").read_text("utf-8")):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_cancelled_query_leaves_no_process(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    code = f"import os,time; open({str(mark)!r},'w').write(str(os.getpid())+chr(10)); time.sleep(600)"

    async def story() -> None:
        task = asyncio.create_task(_query(code))
        async with asyncio.timeout(HANG_SECONDS):
            while not mark.exists() or not mark.read_text().endswith("\n"):
                await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not Path(f"/proc/{mark.read_text().strip()}").exists()

    asyncio.run(story())

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from bridle.errors import ProcessError
from bridle.ground.children.query import Consulted, consult

HANG_SECONDS = 60.0


def _run(code: str, *, seconds: float = HANG_SECONDS, size: int = 1_000_000) -> Consulted:
    return asyncio.run(_consulting(code, seconds, size))


async def _consulting(code: str, seconds: float = HANG_SECONDS, size: int = 1_000_000) -> Consulted:
    argv = (sys.executable, "-I", "-c", code)
    return await consult(argv, cwd=Path.cwd(), environment={"MARK": "yes"}, limit_seconds=seconds, limit_bytes=size)


def test_what_a_program_prints_and_how_it_ends_is_told() -> None:
    code = "import os,sys; print(os.environ['MARK'], 'HOME' in os.environ); sys.exit(sys.stdin.read() or '!')"
    assert _run(code) == Consulted(b"yes False\n", b"!\n", 1)


def _given(code: str, given: bytes, *, seconds: float = HANG_SECONDS) -> Consulted:
    argv = (sys.executable, "-I", "-c", code)
    return asyncio.run(
        consult(argv, cwd=Path.cwd(), environment={}, limit_seconds=seconds, limit_bytes=20_000_000, given=given)
    )


def test_a_program_gets_what_it_is_given() -> None:
    given = b"a line\n" * 500_000
    told = _given("import sys; sys.stdout.buffer.write(sys.stdin.buffer.read())", given)
    assert (told.stdout, told.exit_code) == (given, 0)


def test_a_program_that_does_not_read_what_it_is_given_is_none_the_worse() -> None:
    told = _given("import sys; sys.stdin.close(); print('done')", b"x" * 10_000_000)
    assert (told.stdout, told.exit_code) == (b"done\n", 0)


def test_a_program_that_hangs_over_what_it_is_given_is_ended() -> None:
    told = _given("import time; time.sleep(600)", b"x" * 10_000_000, seconds=0.5)
    assert (told.exit_code, told.is_late) == (None, True)


def test_a_program_apart_has_a_session_of_its_own() -> None:
    code = "import os; print(os.getsid(0) == os.getpid())"

    async def asked(*, apart: bool) -> bytes:
        argv = (sys.executable, "-I", "-c", code)
        told = await consult(
            argv, cwd=Path.cwd(), environment={}, limit_seconds=HANG_SECONDS, limit_bytes=100, apart=apart
        )
        return told.stdout

    assert asyncio.run(asked(apart=True)) == b"True\n"
    assert asyncio.run(asked(apart=False)) == b"False\n"


def test_a_program_that_takes_too_long_is_ended_and_what_it_said_is_kept() -> None:
    told = _run("import time; print('first', flush=True); time.sleep(600)", seconds=1.0)
    assert (told.stdout, told.exit_code, told.is_late) == (b"first\n", None, True)


def test_a_program_that_prints_too_much_is_ended() -> None:
    told = _run("while True: print('x' * 1000)", size=100_000)
    assert (len(told.stdout), told.exit_code, told.is_cut) == (100_000, None, True)


def test_a_program_that_complains_without_end_does_not_stand_still() -> None:
    told = _run("import sys; sys.stderr.write('x' * 3_000_000); print('done')")
    assert (told.stdout, len(told.stderr), told.exit_code) == (b"done\n", 64 * 1024, 0)


def test_a_program_that_is_not_there_is_told() -> None:
    with pytest.raises(ProcessError, match="could not be started"):
        asyncio.run(consult(("/nowhere/program",), cwd=Path.cwd(), environment={}, limit_seconds=1.0, limit_bytes=1))


def test_a_program_that_nobody_waits_for_is_ended(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    code = f"import os,time; open({str(mark)!r},'w').write(str(os.getpid())+chr(10)); time.sleep(600)"

    async def story() -> None:
        task = asyncio.create_task(_consulting(code))
        async with asyncio.timeout(HANG_SECONDS):
            while not mark.exists() or not mark.read_text().endswith("\n"):
                await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not Path(f"/proc/{mark.read_text().strip()}").exists()

    asyncio.run(story())

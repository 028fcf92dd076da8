from __future__ import annotations

import asyncio
import errno
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from bridle.errors import DiskError, ProcessError, UsageError
from bridle.ground import disk, threads
from bridle.ground.children import child_process, output_pump
from bridle.ground.children.child_process import Child, Spawn, SpawnFailure, StopTimeouts
from bridle.ground.descendants import census, terminate
from bridle.ground.descendants.census import TOKEN_VARIABLE
from bridle.ground.ids import new_token
from tests.fixtures.child_output import read_lines
from tests.sizes import SIZES

# A test that takes longer than this has hung.
HANG_SECONDS = 60

QUICK = StopTimeouts(stdin_seconds=0.2, interrupt_seconds=0.2, terminate_seconds=0.2, descendants_seconds=0.2)


def spawn(*argv: str, has_stdin: bool = False, token: str | None = None, **environment: str) -> Spawn:
    variables = {**os.environ, **environment}
    return Spawn(argv, Path.cwd(), variables, token or new_token(), has_stdin=has_stdin)


def python(code: str, *arguments: str, has_stdin: bool = False) -> Spawn:
    return spawn(sys.executable, "-c", code, *arguments, has_stdin=has_stdin)


def busy_threads() -> int:
    """How many threads do something; one that is done waits a moment for more."""
    return sum(thread.name != threads.IDLE_NAME for thread in threading.enumerate())


def play(story: Callable[[], Awaitable[None]], *, limit_seconds: float = HANG_SECONDS) -> None:
    """Run a story in a loop of its own and see that it leaves no thread behind."""
    before = busy_threads()

    async def main() -> None:
        async with asyncio.timeout(limit_seconds):
            await story()

    asyncio.run(main())
    # A thread that has handed over its result may need a moment to be gone.
    deadline = time.monotonic() + HANG_SECONDS
    while busy_threads() > before:
        assert time.monotonic() < deadline, threading.enumerate()
        time.sleep(0.01)


async def read_all(child: Child) -> bytes:
    parts = []
    while (part := await child.read()) is not None:
        parts.append(part)
    return b"".join(parts)


async def line_of(child: Child) -> bytes:
    """Read until a whole line is there and return it; what came with it is dropped."""
    return (await read_lines(child)).partition(b"\n")[0] + b"\n"


def is_alive(pid: int) -> bool:
    entry = census.find_process(pid)
    return entry is not None and entry.is_alive


async def until(claim: Callable[[], bool]) -> None:
    while not claim():
        await asyncio.sleep(0.01)


def test_output_error_output_and_exit_code_all_arrive() -> None:
    async def story() -> None:
        tapped: list[bytes] = []
        errors: list[bytes] = []
        child = await child_process.start(
            spawn("sh", "-c", "echo out; echo err >&2; exit 7"), on_chunk=tapped.append, on_stderr=errors.append
        )
        try:
            assert await read_all(child) == b"out\n"
            assert await child.read() is None
            assert await child.wait(HANG_SECONDS) == 7
        finally:
            await child.close()
        assert child.exit_code == 7
        assert child.stderr_tail == b"err\n"
        assert (b"".join(tapped), b"".join(errors)) == (b"out\n", b"err\n")

    play(story)


def test_the_child_has_its_own_session_no_input_and_only_the_given_environment() -> None:
    code = "import os, sys; print(os.getsid(0) == os.getpid(), repr(sys.stdin.read()), sorted(os.environ))"

    async def story() -> None:
        asked = Spawn((sys.executable, "-I", "-c", code), Path("/"), {"ONLY": "1", "LC_ALL": "C"}, new_token())
        child = await child_process.start(asked)
        try:
            names = sorted(["LC_ALL", "ONLY", TOKEN_VARIABLE])
            assert await read_all(child) == f"True '' {names}\n".encode()
        finally:
            await child.close()

    play(story)


def test_a_run_inside_a_run_carries_both_tokens() -> None:
    async def story() -> None:
        asked = spawn("sh", "-c", f"echo ${TOKEN_VARIABLE}", token="inner", BRIDLE_RUN_TOKEN="outer")
        child = await child_process.start(asked)
        try:
            assert await read_all(child) == b"outer:inner\n"
        finally:
            await child.close()

    play(story)


def test_three_megabytes_in_one_line_arrive_whole() -> None:
    async def story() -> None:
        child = await child_process.start(python("print('x' * 3_000_000)"))
        try:
            assert await read_all(child) == b"x" * 3_000_000 + b"\n"
        finally:
            await child.close()

    play(story)


def test_200_kilobytes_of_error_output_do_not_block_and_only_their_tail_is_kept() -> None:
    code = "import sys; sys.stderr.write('e' * 200_000 + 'END'); sys.stderr.flush(); print('done')"

    async def story() -> None:
        errors: list[bytes] = []
        child = await child_process.start(python(code), on_stderr=errors.append)
        try:
            assert await read_all(child) == b"done\n"
            await child.wait(HANG_SECONDS)
        finally:
            await child.close()
        assert b"".join(errors) == b"e" * 200_000 + b"END"
        assert len(child.stderr_tail) == output_pump.STDERR_TAIL_BYTES
        assert child.stderr_tail.endswith(b"eEND")

    play(story)


def test_a_reader_that_is_behind_holds_the_child_back_and_memory_is_bounded() -> None:
    code = (
        "import os, sys\nfor turn in range(200): os.write(1, b'x' * 65536)\n"
        "sys.stderr.write('all written'); sys.stderr.flush()"
    )

    async def story() -> None:
        child = await child_process.start(python(code))
        handoff = child._pump.handoff
        try:
            await until(lambda: handoff.is_full)
            total = 0
            while (part := await child.read()) is not None:
                assert len(part) <= output_pump.HANDOFF_LIMIT_BYTES + output_pump.PIPE_BYTES
                total += len(part)
                if total < 10_000_000 and not child.stderr_tail:
                    await until(lambda: handoff.is_full or bool(child.stderr_tail))
                    assert handoff.size_bytes <= output_pump.HANDOFF_LIMIT_BYTES + output_pump.PIPE_BYTES
            assert total == 200 * 65536
        finally:
            await child.close()

    play(story)


def test_error_output_is_read_while_the_reader_is_behind() -> None:
    code = (
        "import os, threading\n"
        "threading.Thread(target=lambda: [os.write(2, b'e' * 1000) for _ in range(1000)]).start()\n"
        "[os.write(1, b'x' * 65536) for _ in range(100)]"
    )

    async def story() -> None:
        errors: list[bytes] = []
        child = await child_process.start(python(code), on_stderr=errors.append)
        try:
            await until(lambda: child._pump.handoff.is_full)
            await until(lambda: sum(map(len, errors)) == 1_000_000)
            assert child.exit_code is None
            assert len(await read_all(child)) == 100 * 65536
        finally:
            await child.close()

    play(story)


def test_every_byte_of_a_loud_child_reaches_both_the_tap_and_the_reader() -> None:
    lines = SIZES.loud_child_bytes // 250
    code = f"import sys; [sys.stdout.write(f'{{n:0249d}}\\n') for n in range({lines})]"

    async def story() -> None:
        tapped = 0

        def tap(chunk: bytes) -> None:
            nonlocal tapped
            tapped += len(chunk)

        child = await child_process.start(python(code), on_chunk=tap)
        seen, number, rest = 0, 0, b""
        try:
            while (part := await child.read()) is not None:
                seen += len(part)
                *whole, rest = (rest + part).split(b"\n")
                for line in whole:
                    assert int(line) == number
                    number += 1
        finally:
            await child.close()
        assert (number, rest, seen, tapped) == (lines, b"", lines * 250, lines * 250)

    play(story, limit_seconds=10 * HANG_SECONDS)


def test_a_tap_that_fails_is_reported_once_and_nothing_is_lost_for_the_reader() -> None:
    code = "import os, sys; [os.write(1, b'x' * 65536) for _ in range(10)]; sys.stdout.write('end')"

    async def story() -> None:
        full = os.open("/dev/full", os.O_WRONLY)
        child = await child_process.start(python(code), on_chunk=lambda chunk: disk.write_all(full, chunk))
        try:
            with pytest.raises(DiskError) as caught:
                await read_all(child)
            assert caught.value.payload == errno.ENOSPC
            assert child.tap_error is caught.value
            await read_all(child)
            assert await child.wait(HANG_SECONDS) == 0
        finally:
            await child.close()
            os.close(full)

    play(story)


def test_a_disk_that_fills_up_midway_keeps_what_fitted_and_the_child_runs_to_its_end(tmp_path: Path) -> None:
    script = """
import asyncio, os, resource, sys
from pathlib import Path
from bridle.errors import DiskError
from bridle.ground import disk
from bridle.ground.children import child_process as process
async def main():
    fd = disk.create_exclusive(Path(sys.argv[1]))
    asked = process.Spawn(("sh", "-c", "head -c 500000 /dev/zero; echo over >&2"), Path("/"), os.environ, "t")
    child = await process.start(asked, on_chunk=lambda chunk: disk.write_all(fd, chunk))
    total, failures = 0, 0
    try:
        while True:
            try:
                part = await child.read()
            except DiskError:
                failures += 1
                continue
            if part is None:
                break
            total += len(part)
        print(total, failures, await child.wait(30), child.stderr_tail)
    finally:
        await child.close()
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
asyncio.run(main())
"""
    log = tmp_path / "log"
    done = subprocess.run([sys.executable, "-c", script, str(log)], capture_output=True, timeout=HANG_SECONDS)
    assert (done.stdout, done.stderr) == (b"500000 1 0 b'over\\n'\n", b"")
    assert log.read_bytes() == bytes(100_000)


def test_a_child_that_closes_its_output_and_lives_on_is_read_to_the_end_and_stopped() -> None:
    async def story() -> None:
        child = await child_process.start(spawn("sh", "-c", "echo bye; exec sleep 600 >&- 2>&-"))
        try:
            assert await read_all(child) == b"bye\n"
            assert await child.wait(0.05) is None
            await child.stop(timeouts=QUICK)
            assert child.exit_code == -signal.SIGINT
        finally:
            await child.close()
        assert not is_alive(child.pid)

    play(story)


def test_a_child_that_never_reads_its_input_does_not_hang_the_writer() -> None:
    async def story() -> None:
        child = await child_process.start(spawn("sleep", "600", has_stdin=True))
        try:
            with pytest.raises(ProcessError, match="has not read its input"):
                await child.write(b"x" * 1_000_000, limit_seconds=0.2)
            with pytest.raises(ProcessError, match="no longer reads its input: it is closed"):
                await child.write(b"more")
        finally:
            await child.close()

    play(story)


def test_stopping_a_child_fails_a_write_that_is_under_way() -> None:
    async def story() -> None:
        child = await child_process.start(spawn("sh", "-c", "echo up; exec sleep 600", has_stdin=True))
        try:
            await line_of(child)
            writing = asyncio.ensure_future(child.write(b"x" * 1_000_000))
            await until(lambda: child._stdin is not None and child._stdin._waiter is not None)
            await child.stop(timeouts=QUICK)
            with pytest.raises(ProcessError, match="closed while a message"):
                await writing
            assert child.exit_code == -signal.SIGINT
        finally:
            await child.close()

    play(story)


def test_a_conversation_goes_both_ways_and_ends_with_the_input() -> None:
    async def story() -> None:
        child = await child_process.start(spawn("cat", has_stdin=True))
        try:
            for message in (b"one\n", b"two\n"):
                await child.write(message)
                assert await line_of(child) == message
            big = os.urandom(2_000_000)
            writing = asyncio.ensure_future(child.write(big))
            got = b""
            while len(got) < len(big):
                part = await child.read()
                assert part is not None
                got += part
            await writing
            assert got == big
            await child.close_stdin()
            assert await child.wait(HANG_SECONDS) == 0
            assert await child.read() is None
        finally:
            await child.close()

    play(story)


def test_writing_to_a_child_that_has_ended_is_a_process_error() -> None:
    async def story() -> None:
        child = await child_process.start(spawn("true", has_stdin=True))
        try:
            await child.wait(HANG_SECONDS)
            with pytest.raises(ProcessError, match="no longer reads") as caught:
                await child.write(b"hello")
            assert caught.value.payload == errno.EPIPE
        finally:
            await child.close()

    play(story)


def test_a_grandchild_that_holds_the_output_open_does_not_hang_the_reader() -> None:
    # What it prints after a long silence comes too late to be the agent's.
    silence = str(output_pump.SILENCE_SECONDS * 1.75)
    script = 'echo mine; setsid sh -c "sleep $0; echo late; exec sleep 600" & exit 3'

    async def story() -> None:
        child = await child_process.start(spawn("sh", "-c", script.replace("$0", silence)))
        try:
            assert await read_all(child) == b"mine\n"
            assert child.exit_code == 3
            left = terminate.find(child._token, None)
            assert sorted(victim.name for victim in left) == ["sh", "sleep"]
        finally:
            await child.close()
        assert not any(is_alive(victim.pid) for victim in left)

    play(story)


def test_stop_ends_the_reading_at_once_though_an_outsider_holds_the_output() -> None:
    """The outsider is not a descendant: another program was given the pipe."""
    chatter = (
        "import os, sys, time\n"
        "fd = os.open(sys.argv[1], os.O_WRONLY)\n"
        "print(flush=True)\n"
        "while True:\n"
        "    time.sleep(0.001)\n"
        "    try: os.write(fd, b'chatter')\n"
        "    except OSError: pass\n"  # nobody reads any more: it lives on, for the test to see it
    )

    async def story() -> None:
        child = await child_process.start(spawn("sleep", "600"))
        argv = [sys.executable, "-c", chatter, f"/proc/{child.pid}/fd/1"]
        with subprocess.Popen(argv, stdout=subprocess.PIPE) as outsider:
            try:
                assert outsider.stdout is not None
                outsider.stdout.readline()
                await child.stop(timeouts=QUICK)
                # Without a stop it would be listened to for that long.
                async with asyncio.timeout(output_pump.CHATTER_SECONDS - 1):
                    await read_all(child)
                assert outsider.poll() is None, "then this test proves nothing"
            finally:
                await child.close()
                outsider.kill()

    play(story)


def test_a_grandchild_that_chatters_for_ever_is_not_listened_to_for_ever() -> None:
    chatter = "echo mine; (while :; do echo chatter; sleep 0.2; done) & exit 0"

    async def story() -> None:
        child = await child_process.start(spawn("sh", "-c", chatter))
        try:
            output = await read_all(child)
            assert output.startswith(b"mine\n")
            # It was given the time of a helper that outlives the agent a little.
            assert output.count(b"chatter") > 5
        finally:
            await child.close()

    play(story)


def test_stop_goes_in_steps_and_a_polite_child_sees_the_first_one() -> None:
    polite = "import sys; print('up', flush=True); sys.stdin.read(); print('eof', flush=True); sys.exit(5)"

    async def story() -> None:
        child = await child_process.start(python(polite, has_stdin=True))
        try:
            assert await line_of(child) == b"up\n"
            await child.stop(timeouts=StopTimeouts(stdin_seconds=HANG_SECONDS))
            assert await read_all(child) == b"eof\n"
            assert child.exit_code == 5
        finally:
            await child.close()

    play(story)


@pytest.mark.parametrize(
    ("ignored", "end"),
    [([], signal.SIGINT), (["INT"], signal.SIGTERM), (["INT", "TERM"], signal.SIGKILL)],
)
def test_each_further_step_ends_a_child_that_ignores_the_one_before(ignored: list[str], end: signal.Signals) -> None:
    code = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGINT, signal.SIG_DFL)\n"
        "for name in sys.argv[1:]: signal.signal(getattr(signal, 'SIG' + name), signal.SIG_IGN)\n"
        "print('up', flush=True)\ntime.sleep(600)"
    )

    async def story() -> None:
        child = await child_process.start(python(code, *ignored))
        try:
            await line_of(child)
            await child.stop(timeouts=QUICK)
            assert child.exit_code == -end
        finally:
            await child.close()

    play(story)


def test_a_step_that_is_left_out_is_not_taken() -> None:
    async def story() -> None:
        child = await child_process.start(spawn("sleep", "600"))
        try:
            await child.stop(timeouts=StopTimeouts(interrupt_seconds=None, terminate_seconds=HANG_SECONDS))
            assert child.exit_code == -signal.SIGTERM
        finally:
            await child.close()

    play(story)


def test_stop_takes_along_what_lost_both_its_token_and_its_parent_while_stopping() -> None:
    script = f"env -u {TOKEN_VARIABLE} setsid sh -c 'trap \"\" INT; echo $$; sleep 600' & wait"

    async def story() -> None:
        child = await child_process.start(spawn("sh", "-c", script))
        try:
            bare = int(await line_of(child))
            await child.stop(timeouts=QUICK)
            assert not is_alive(bare)
        finally:
            await child.close()

    play(story)


def test_what_was_printed_before_the_stop_can_still_be_read_after_it() -> None:
    code = "import os, time; os.write(1, b'x' * 200_000); os.write(2, b'up'); time.sleep(600)"

    async def story() -> None:
        tapped: list[bytes] = []
        child = await child_process.start(python(code), on_chunk=tapped.append)
        try:
            await until(lambda: child.stderr_tail == b"up")
            await child.stop(timeouts=QUICK)
            assert await read_all(child) == b"x" * 200_000
            assert len(b"".join(tapped)) == 200_000
        finally:
            await child.close()

    play(story)


def test_close_alone_logs_unread_output_and_leaves_no_process() -> None:
    code = "import os, time; os.write(2, b'up'); os.write(1, b'x' * 20_000_000); time.sleep(600)"

    async def story() -> None:
        tapped: list[bytes] = []
        child = await child_process.start(python(code), on_chunk=tapped.append)
        await until(lambda: child._pump.handoff.is_full)
        # The pipe is full again behind the queue: these bytes are only in the kernel.
        held = output_pump.HANDOFF_LIMIT_BYTES
        await child.close()
        await child.close()
        assert not is_alive(child.pid)
        assert child.exit_code == -signal.SIGKILL
        assert sum(map(len, tapped)) > held
        assert await child.wait(0) == -signal.SIGKILL

    play(story)


def test_a_cancelled_run_that_closes_in_its_finally_leaves_nothing() -> None:
    async def story() -> None:
        daemon = "setsid sleep 600 & echo $!; sleep 600"
        started: asyncio.Future[tuple[Child, int]] = asyncio.get_running_loop().create_future()

        async def run() -> None:
            child = await child_process.start(spawn("sh", "-c", daemon))
            try:
                started.set_result((child, int(await line_of(child))))
                await read_all(child)
            finally:
                await child.close()

        task = asyncio.ensure_future(run())
        child, pid = await started
        task.cancel()
        await asyncio.sleep(0)
        task.cancel()  # an impatient second time, while it closes
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not is_alive(child.pid)
        assert not is_alive(pid)

    play(story)


def test_many_children_side_by_side_lose_nothing_and_leave_nothing() -> None:
    count = SIZES.agents_side_by_side
    code = "i=0; while [ $i -lt 50 ]; do echo $0 $i; i=$((i+1)); done; setsid sleep 600 & exit 0"

    async def story() -> None:
        async def run(number: int) -> Child:
            child = await child_process.start(spawn("sh", "-c", code, str(number)))
            try:
                output = await read_lines(child, 50)
                assert output == b"".join(b"%d %d\n" % (number, line) for line in range(50))
                await child.wait(HANG_SECONDS)
                await child.stop(timeouts=QUICK)
            finally:
                await child.close()
            return child

        children = await asyncio.gather(*(run(number) for number in range(count)))
        tokens = {child._token for child in children}
        left = [entry for entry in census.take().values() if not tokens.isdisjoint(entry.tokens)]
        assert left == []

    before = len(os.listdir("/proc/self/fd"))
    play(story, limit_seconds=10 * HANG_SECONDS)
    assert len(os.listdir("/proc/self/fd")) <= before + 1  # the pipe to the keeper, if this was the first


def _program(folder: Path, name: str, text: str, mode: int) -> str:
    path = folder / name
    path.write_text(text)
    path.chmod(mode)
    return str(path)


def test_every_reason_not_to_start_is_distinguished(tmp_path: Path) -> None:
    no_interpreter = _program(tmp_path, "script", "#!/no/such/thing\n", 0o755)
    not_executable = _program(tmp_path, "text", "hello", 0o644)
    no_format = _program(tmp_path, "strange", "\x7fELFish", 0o755)
    (tmp_path / "file").write_text("")
    here, gone, file = tmp_path, tmp_path / "gone", tmp_path / "file"
    cases: list[tuple[tuple[str, ...], Path, SpawnFailure]] = [
        (("no-such-program",), here, SpawnFailure("program", errno.ENOENT)),
        (("/no/such/program",), here, SpawnFailure("program", errno.ENOENT)),
        ((no_interpreter,), here, SpawnFailure("interpreter", errno.ENOENT)),
        ((not_executable,), here, SpawnFailure("program", errno.EACCES)),
        ((no_format,), here, SpawnFailure("program", errno.ENOEXEC)),
        (("true",), gone, SpawnFailure("folder", errno.ENOENT)),
        (("true",), file, SpawnFailure("folder", errno.ENOTDIR)),
        (("no-such-program",), gone, SpawnFailure("folder", errno.ENOENT)),
        (("true", "x" * 3_000_000), here, SpawnFailure("arguments", errno.E2BIG)),
        (("true", "a\0b"), here, SpawnFailure("arguments", None)),
        (("true", "\ud800"), here, SpawnFailure("arguments", None)),
    ]

    async def story() -> None:
        for argv, cwd, failure in cases:
            with pytest.raises(ProcessError) as caught:
                await child_process.start(Spawn(argv, cwd, dict(os.environ), new_token()))
            assert caught.value.payload == failure, argv[0]
            assert caught.value.remedy is not None
            assert argv[0] in caught.value.message

    play(story)


def test_a_token_that_could_be_taken_for_two_is_refused() -> None:
    async def story() -> None:
        with pytest.raises(UsageError):
            await child_process.start(spawn("true", token="one:two"))

    play(story)


def test_a_child_started_without_input_cannot_be_written_to() -> None:
    async def story() -> None:
        child = await child_process.start(spawn("true"))
        try:
            with pytest.raises(ProcessError, match="without a stdin"):
                await child.write(b"x")
        finally:
            await child.close()

    play(story)


def test_without_the_newer_system_calls_everything_still_ends() -> None:
    script = """
import os, sys
for name in ("pidfd_open", "waitid", "eventfd"):
    delattr(os, name)
import asyncio
from pathlib import Path
from bridle.ground.children import child_process as process
async def main():
    asked = process.Spawn(("sh", "-c", "echo hi; setsid sleep 600 & exit 4"), Path("/"), os.environ, "t" + sys.argv[1])
    child = await process.start(asked)
    try:
        print(await child.read(), await child.wait(30))
        await child.stop(timeouts=process.StopTimeouts())
        print(await child.read())
    finally:
        await child.close()
    sleeper = process.Spawn(("sleep", "600"), Path("/"), os.environ, "s" + sys.argv[1])
    child = await process.start(sleeper)
    await child.close()
    print(child.exit_code)
asyncio.run(main())
"""
    token = new_token()
    command = [sys.executable, "-c", script, token]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_SECONDS)
    assert (done.stdout, done.stderr) == ("b'hi\\n' 4\nNone\n-9\n", "")
    assert terminate.find("t" + token, None) == []


NO_THREADS = """
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
threading.stack_size(4 << 30)  # more than there may be: no thread can start
"""

NO_DESCRIPTORS = """
def refuse(*_):
    raise OSError(24, "no descriptor")
os.eventfd = refuse
"""


@pytest.mark.parametrize(
    ("shortage", "words"), [(NO_THREADS, "cannot start another thread"), (NO_DESCRIPTORS, "no descriptor")]
)
def test_a_machine_without_room_to_read_a_child_leaves_none_behind(shortage: str, words: str) -> None:
    script = f"""
import asyncio, os, resource, sys, threading
from pathlib import Path
from bridle.ground.children import child_process as process
from bridle.ground.descendants import keeper_client as guard, terminate as descendants
{shortage}
async def main():
    try:
        await process.start(process.Spawn(("sleep", "600"), Path("/"), os.environ, sys.argv[1]))
    except Exception as error:
        print(error)
    print(descendants.find(sys.argv[1], None), guard._client._lines)
asyncio.run(main())
"""
    command = [sys.executable, "-W", "error", "-c", script, new_token()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG_SECONDS)
    assert (done.stdout.splitlines()[-1], done.stderr) == ("[] {}", "")
    assert words in done.stdout

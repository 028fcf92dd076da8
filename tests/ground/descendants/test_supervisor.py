from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from bridle.errors import ProcessError
from bridle.ground.children import child_process
from bridle.ground.children.capture import capture
from bridle.ground.children.child_process import Spawn, StopTimeouts
from bridle.ground.descendants import census
from bridle.ground.descendants.enclosing_agent import SUPERVISOR_NAME
from bridle.ground.ids import new_token
from tests.fixtures.child_output import read_lines

# A test that takes longer than this has hung.
HANG_SECONDS = 60

# A daemon as it is written in books, that also drops its environment, and with it the token. It prints its pid, and
# then closes its output; `WORK` is what it does for ever.
DAEMON = """
import os, sys
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
print(os.getpid(), flush=True)
os.execve(sys.executable, [sys.executable, "-c", {work!r}], {{}})
"""

SLEEPS = "import os, time; os.close(1); os.close(2); time.sleep(600)"
IGNORES_SIGTERM = f"import signal; signal.signal(15, signal.SIG_IGN); {SLEEPS}"
# It is never the same process for longer than a moment.
FORKS_FOR_EVER = """
import os, time
os.close(1); os.close(2)
end = time.time() + 600
while time.time() < end:
    if os.fork(): os._exit(0)
    os.setsid()
"""


def daemon(work: str) -> tuple[str, ...]:
    """Return a command that starts a daemon and exits."""
    return (sys.executable, "-c", DAEMON.format(work=work))


def play(story: Callable[[], Awaitable[None]]) -> None:
    async def main() -> None:
        async with asyncio.timeout(HANG_SECONDS):
            await story()

    asyncio.run(main())


async def pid_of_daemon(work: str, *, stops: bool = False) -> int:
    """Start a daemon below a child, close the child, and return the daemon's pid."""
    child = await child_process.start(Spawn(daemon(work), Path("/"), dict(os.environ), new_token()))
    try:
        output = b""
        while (part := await child.read()) is not None:
            output += part
        if stops:
            await child.stop(timeouts=StopTimeouts(descendants_seconds=0.1))
    finally:
        await child.close()
    return int(output)


@pytest.mark.parametrize("work", [SLEEPS, IGNORES_SIGTERM])
@pytest.mark.parametrize("stops", [False, True])
def test_a_daemon_without_parent_session_and_environment_ends_with_its_child(work: str, *, stops: bool) -> None:
    async def story() -> None:
        assert not census.is_alive(await pid_of_daemon(work, stops=stops))

    play(story)


# It stops itself, and notes that it was asked to end.
STOPS_ITSELF = """
import os, signal
def leave(*_):
    open({path!r}, "w").close()
    os._exit(0)
signal.signal(signal.SIGTERM, leave)
os.close(1); os.close(2)
os.kill(os.getpid(), signal.SIGSTOP)
signal.pause()
"""


def test_a_stopped_daemon_is_continued_so_that_it_ends_by_itself(tmp_path: Path) -> None:
    noted = tmp_path / "noted"

    async def story() -> None:
        command = daemon(STOPS_ITSELF.format(path=str(noted)))
        child = await child_process.start(Spawn(command, Path("/"), dict(os.environ), new_token()))
        try:
            output = b""
            while (part := await child.read()) is not None:
                output += part
            while _text(Path(f"/proc/{int(output)}/stat")).rpartition(") ")[2][:1] != "T":
                await asyncio.sleep(0.01)
            await child.stop(timeouts=StopTimeouts(descendants_seconds=HANG_SECONDS / 2))
        finally:
            await child.close()

    play(story)
    assert noted.exists()


def test_a_daemon_that_forks_and_exits_without_pause_is_caught() -> None:
    marker = new_token()

    async def story() -> None:
        await pid_of_daemon(f"mark = {marker!r}\n{FORKS_FOR_EVER}")

    play(story)
    found = [path for path in Path("/proc").glob("[0-9]*/cmdline") if marker in _text(path)]
    assert found == []


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:  # it has ended
        return ""


def test_the_daemon_of_another_child_is_left_alone() -> None:
    async def story() -> None:
        other = await child_process.start(Spawn(daemon(SLEEPS), Path("/"), dict(os.environ), new_token()))
        try:
            spared = int(await read_lines(other))
            assert not census.is_alive(await pid_of_daemon(SLEEPS))
            assert census.is_alive(spared)
        finally:
            await other.close()
        assert not census.is_alive(spared)

    play(story)


HARNESS = """
import asyncio, os, sys
from pathlib import Path
from bridle.ground.children import child_process
from bridle.ground.ids import new_token

async def main():
    child = await child_process.start(child_process.Spawn(tuple(sys.argv[1:]), Path("/"), os.environ, new_token()))
    while (part := await child.read()) is not None:
        print(part.decode(), end="", flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""


def test_a_daemon_ends_if_bridle_is_killed() -> None:
    command = [sys.executable, "-c", HARNESS, *daemon(SLEEPS)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as harness:
        assert harness.stdout is not None
        pid = int(harness.stdout.readline())
        assert census.is_alive(pid)
        harness.kill()
    wait_gone(pid)


def wait_gone(pid: int) -> None:
    deadline = time.monotonic() + HANG_SECONDS
    while census.is_alive(pid):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_child_that_kills_its_supervisor_is_reported_and_what_it_started_is_ended() -> None:
    code = """
import os, signal, subprocess, sys, time
print(subprocess.Popen(["sleep", "600"], start_new_session=True, stdout=subprocess.DEVNULL).pid, flush=True)
sys.stdin.read()
os.kill(os.getppid(), signal.SIGKILL)
time.sleep(600)
"""

    async def story() -> None:
        spawn = Spawn((sys.executable, "-c", code), Path("/"), os.environ, new_token(), has_stdin=True)
        child = await child_process.start(spawn)
        orphan = int(await child.read() or b"")
        await child.close_stdin()
        assert await child.wait(HANG_SECONDS) == -signal.SIGKILL
        with pytest.raises(ProcessError, match="supervisor of process"):
            await child.close()
        wait_gone(child.pid)  # the kernel kills it with its supervisor
        assert not census.is_alive(orphan)

    play(story)


def test_a_supervisor_has_its_own_command_line_and_is_only_ended_by_sigkill() -> None:
    async def story() -> None:
        child = await child_process.start(Spawn(("cat",), Path("/"), os.environ, new_token(), has_stdin=True))
        try:
            entry = census.find_process(child.pid)
            assert entry is not None
            supervisor = entry.parent
            assert _text(Path(f"/proc/{supervisor}/comm")) == f"{SUPERVISOR_NAME}\n"
            assert _text(Path(f"/proc/{supervisor}/cmdline")) != _text(Path("/proc/self/cmdline"))
            # It holds nothing of Bridle: its two lines to it, and a pipe of its own.
            assert len(os.listdir(f"/proc/{supervisor}/fd")) == 4
            for sig in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}:
                os.kill(supervisor, sig)
            await child.write(b"it still runs")
            assert await child.read() == b"it still runs"
            await child.close_stdin()
            assert await child.wait(HANG_SECONDS) == 0
            await child.stop(timeouts=StopTimeouts())  # raises if the supervisor was killed
        finally:
            await child.close()

    play(story)


def test_a_child_has_the_signals_and_descriptors_of_any_other_child() -> None:
    script = "grep Sig[BI] /proc/self/status; ls /proc/self/fd"
    plain = subprocess.run(["sh", "-c", script], stdin=subprocess.DEVNULL, capture_output=True, check=True).stdout

    async def story() -> None:
        captured = await capture(
            ("sh", "-c", script), cwd=Path("/"), environment=os.environ, limit_seconds=HANG_SECONDS
        )
        assert captured.stdout == plain

    play(story)


def test_the_exit_code_is_known_though_bridle_was_started_with_sigchld_ignored() -> None:
    script = """
import asyncio, os, signal
from pathlib import Path
from bridle.ground.children import child_process
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
async def main():
    child = await child_process.start(child_process.Spawn(("sh", "-c", "exit 7"), Path("/"), dict(os.environ), "t"))
    print(await child.wait(60))
    await child.close()
asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=HANG_SECONDS)
    assert (done.stdout, done.stderr) == ("7\n", "")


# It prints its descriptors after all but three were closed: those below, between and above these.
CLOSES_OTHERS = """
import os
from bridle.ground.descendants.supervisor import Starter
starter = Starter(ignored=())
if {without_call}:
    starter._close_range = None
elif {call_fails}:
    starter._close_range = lambda first, last, flags: -1
kept = {{1, 40, 60}}
for number in (39, 40, 41, 60, 61, 900):
    os.dup2(0, number)
starter._close_others(kept)
found = [number for number in range(1000) if os.path.exists(f"/proc/self/fd/{{number}}")]
os.write(1, repr(found).encode())
os._exit(0)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="supervisors are of Linux")
@pytest.mark.parametrize(("without_call", "call_fails"), [(False, False), (True, False), (False, True)])
def test_all_other_descriptors_are_closed_also_where_the_system_has_no_call_for_it(
    without_call: bool, call_fails: bool
) -> None:
    program = CLOSES_OTHERS.format(without_call=without_call, call_fails=call_fails)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, timeout=HANG_SECONDS)
    assert done.stdout == b"[1, 40, 60]"

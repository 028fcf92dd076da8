from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bridle.ground.descendants import census, terminate
from bridle.ground.ids import new_token

# A test that waits longer than this has hung.
HANG_SECONDS = 30

# A program like Bridle: it starts agents, each with a daemon, says the pids and then waits.
HARNESS = """
import asyncio, os, sys, time
from pathlib import Path
from bridle.ground.children import child_process as process
AGENT = "setsid sleep 600 & echo $! $$; trap '' INT TERM; while :; do sleep 0.1; done"
async def main():
    children = []
    for token in sys.argv[2:]:
        asked = process.Spawn(("sh", "-c", AGENT), Path("/"), dict(os.environ), token)
        child = await process.start(asked)
        children.append(child)
        sys.stdout.write((await child.read()).decode())
    print("ready", flush=True)
    if sys.argv[1] == "fork" and os.fork() == 0:
        os.setsid()
        print(os.getpid(), flush=True)
        time.sleep(600)
    await asyncio.to_thread(sys.stdin.readline)
    if sys.argv[1] != "forget":
        for child in children:
            await child.close()
asyncio.run(main())
"""


def eventually(claim: Callable[[], bool]) -> None:
    deadline = time.monotonic() + HANG_SECONDS
    while not claim():
        assert time.monotonic() < deadline, "it did not come true"
        time.sleep(0.01)


def is_alive(pid: int) -> bool:
    entry = census.find_process(pid)
    return entry is not None and entry.is_alive


def keepers_of(pid: int) -> list[int]:
    return [
        entry.pid
        for entry in census.take().values()
        if entry.parent == pid and entry.is_alive and b"keeper.py" in command_line(entry.pid)
    ]


def command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


@contextmanager
def harness(mode: str, *tokens: str) -> Iterator[tuple[subprocess.Popen[str], list[int]]]:
    command = [sys.executable, "-c", HARNESS, mode, *tokens]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as started:
        assert started.stdout is not None
        pids: list[int] = []
        while (line := started.stdout.readline()) != "ready\n":
            assert line, "the harness died"
            pids += map(int, line.split())
        try:
            yield started, pids
        finally:
            started.kill()
            eventually(lambda: not any(terminate.find(token, None) for token in tokens))


def test_killing_the_harness_ends_its_agents_and_their_daemons() -> None:
    tokens = [new_token() for _ in range(5)]
    with harness("hold", *tokens) as (program, pids):
        assert len(pids) == 10
        assert all(map(is_alive, pids))
        (keeper,) = keepers_of(program.pid)
        program.send_signal(signal.SIGKILL)
        program.wait(HANG_SECONDS)
        eventually(lambda: not any(map(is_alive, pids)))
        eventually(lambda: not is_alive(keeper))


def test_killing_one_harness_leaves_the_agents_of_another_alone() -> None:
    with harness("hold", new_token()) as (_, others), harness("hold", new_token()) as (program, pids):
        program.send_signal(signal.SIGKILL)
        eventually(lambda: not any(map(is_alive, pids)))
        assert all(map(is_alive, others))


def test_agents_that_were_never_closed_end_with_the_harness() -> None:
    with harness("forget", new_token()) as (program, pids):
        program.communicate("\n", timeout=HANG_SECONDS)
        eventually(lambda: not any(map(is_alive, pids)))


def test_a_normal_end_takes_the_keeper_along_without_a_word() -> None:
    with harness("hold", new_token()) as (program, pids):
        (keeper,) = keepers_of(program.pid)
        assert program.communicate("\n", timeout=HANG_SECONDS)[0] == ""
        assert program.returncode == 0
        assert not is_alive(keeper)
        assert not any(map(is_alive, pids))


def test_a_fork_of_the_harness_does_not_hide_its_death() -> None:
    with harness("fork", new_token()) as (program, pids):
        assert program.stdout is not None
        fork = int(program.stdout.readline())
        try:
            program.send_signal(signal.SIGKILL)
            eventually(lambda: not any(map(is_alive, pids)))
            assert is_alive(fork)
        finally:
            os.kill(fork, signal.SIGKILL)


def test_the_keeper_is_separate_from_terminal_token_and_pipes() -> None:
    with harness("hold", new_token(), new_token()) as (program, _):
        (keeper,) = keepers_of(program.pid)
        assert os.getsid(keeper) == keeper
        assert census.take()[keeper].tokens == ()
        signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        eventually(lambda: all(ignores(keeper, sig) for sig in signals))
        # While it starts it has its own program files open, one after the other.
        eventually(lambda: sorted(os.listdir(f"/proc/{keeper}/fd")) == ["0", "1", "2"])
        assert [os.readlink(f"/proc/{keeper}/fd/{fd}") for fd in (1, 2)] == ["/dev/null", "/dev/null"]
        for sig in signals:
            os.kill(keeper, sig)
        assert is_alive(keeper)


def ignores(pid: int, sig: signal.Signals) -> bool:
    status = Path(f"/proc/{pid}/status").read_text()
    mask = int(status.split("SigIgn:\t")[1].split("\n")[0], 16)
    return bool(mask & 1 << (sig - 1))


@pytest.mark.parametrize("sig", [signal.SIGKILL, signal.SIGSTOP])
def test_a_keeper_that_is_lost_is_replaced_and_the_new_one_knows_the_agents(sig: signal.Signals) -> None:
    script = """
import os, sys
from bridle.ground.descendants import keeper_client as guard
guard.add(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
for turn in range(3000):  # more than a pipe holds that nobody reads
    guard.add("other")
    guard.drop("other")
print("again", flush=True)
sys.stdin.readline()
"""
    token = new_token()
    environment = {**os.environ, census.TOKEN_VARIABLE: token}
    with (
        subprocess.Popen(["sleep", "600"], env=environment) as agent,
        subprocess.Popen(
            [sys.executable, "-c", script, token], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as program,
    ):
        assert program.stdin is not None
        assert program.stdout is not None
        assert program.stdout.readline() == "ready\n"
        (first,) = keepers_of(program.pid)
        os.kill(first, sig)
        program.stdin.write("\n")
        program.stdin.flush()
        assert program.stdout.readline() == "again\n"
        # Until the new one has its own program, its command line is that of the harness.
        eventually(lambda: [pid for pid in keepers_of(program.pid) if pid != first] != [])
        (second,) = keepers_of(program.pid)
        assert second != first
        program.kill()
        assert agent.wait(HANG_SECONDS) == -signal.SIGTERM


def test_an_agent_that_was_dropped_is_none_of_the_keepers_business() -> None:
    script = """
import sys
from bridle.ground.descendants import keeper_client as guard
guard.add(sys.argv[1]); guard.add(sys.argv[2]); guard.drop(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
"""
    dropped, kept = new_token(), new_token()
    with (
        subprocess.Popen(["sleep", "600"], env={**os.environ, census.TOKEN_VARIABLE: dropped}) as spared,
        subprocess.Popen(["sleep", "600"], env={**os.environ, census.TOKEN_VARIABLE: kept}) as ended,
        subprocess.Popen(
            [sys.executable, "-c", script, dropped, kept], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as program,
    ):
        assert program.stdout is not None
        assert program.stdout.readline() == "ready\n"
        (keeper,) = keepers_of(program.pid)
        program.kill()
        assert ended.wait(HANG_SECONDS) == -signal.SIGTERM
        eventually(lambda: not is_alive(keeper))
        assert spared.poll() is None
        spared.kill()


def test_dropping_what_was_never_added_starts_no_keeper() -> None:
    use = "keeper_client.drop('x'); assert keeper_client._client._keeper is None"
    code = f"from bridle.ground.descendants import keeper_client; {use}"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

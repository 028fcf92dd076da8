"""The list of all processes, and the shorter one of those that are not older than a child."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from bridle.ground.descendants import census
from bridle.ground.descendants.terminate import end_all, find

# A hang is a failure; a start on a busy machine takes a few seconds.
LIMIT_SECONDS = 60
# Marks processes of this test process: others run these tests at the same time, and find and end all with their token.
TOKEN = f"census-test-{os.getpid()}"
# Starts a process that leaves the tree, and waits. That one prints its pid itself: while it is still in its exec, its
# environment cannot be read.
LEAVES_ONE = """
import subprocess, sys
code = "import os; print(os.getpid(), flush=True); input()"
left = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, start_new_session=True)
input()
"""


@pytest.fixture
def child() -> Iterator[subprocess.Popen[str]]:
    environment = {**os.environ, census.TOKEN_VARIABLE: TOKEN}
    command = [sys.executable, "-c", LEAVES_ONE]
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            end_all(TOKEN, None, grace_seconds=0)


def test_a_census_since_a_child_has_the_child_and_what_it_started_and_nothing_older(
    child: subprocess.Popen[str],
) -> None:
    assert child.stdout is not None
    left = int(child.stdout.readline())
    started = census.find_process(child.pid)
    assert started is not None
    younger = census.take(since=started.create_time)
    assert younger[child.pid].tokens == younger[left].tokens == (TOKEN,)
    assert os.getpid() in census.take()
    assert os.getpid() not in younger
    assert {process.pid for process in find(TOKEN, child.pid)} == {child.pid, left}
    assert {process.pid for process in find(TOKEN, None)} == {child.pid, left}


def test_a_shared_census_goes_back_far_enough_for_each_caller(child: subprocess.Popen[str]) -> None:
    started = census.find_process(child.pid)
    assert started is not None
    wanted = [started.create_time, started.create_time, 0.0] * 100
    with ThreadPoolExecutor(8) as pool:
        taken = pool.map(lambda since: census.take(since=since), wanted, timeout=LIMIT_SECONDS)
        for since, entries in zip(wanted, taken, strict=True):
            assert child.pid in entries
            assert since or os.getpid() in entries

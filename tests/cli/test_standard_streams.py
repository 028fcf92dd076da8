"""Losing stderr at any time ends no command: a closed terminal, a pipe without a reader, a full disk."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import select
import signal
import subprocess
import termios
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.engine.fixtures.driven_runs import new_driven_run
from tests.fixtures.bridle_program import BRIDLE
from tests.loop.fixtures.fake_agent import LIMIT_SECONDS, make_project
from tests.loop.fixtures.loop_commands import TWO_TASKS, verdicts
from tests.run.fixtures.fake_agent import Script, init, result, says

# The first agent waits until the test has closed the other side of stderr.
WAITS = """
while not os.path.exists(os.path.join(os.path.dirname(calls), "closed")):
    time.sleep(0.01)
open(task.lower(), 'w').close()
"""


class Stderr:
    """A stderr, and how it is lost."""

    def __init__(self, fd: int, lose: Callable[[], None]) -> None:
        self.fd = fd
        self.lose = lose


@contextmanager
def full_disk() -> Iterator[Stderr]:
    with open("/dev/full", "wb") as file:
        yield Stderr(file.fileno(), lambda: None)


@contextmanager
def pipe() -> Iterator[Stderr]:
    read, write = os.pipe()
    yield from _closed_later(read, write)


@contextmanager
def terminal() -> Iterator[Stderr]:
    master, slave = pty.openpty()
    yield from _closed_later(master, slave)


def _closed_later(ours: int, theirs: int) -> Iterator[Stderr]:
    def lose() -> None:
        select.select([ours], [], [], LIMIT_SECONDS)  # the command writes to it
        os.close(ours)

    yield Stderr(theirs, lose)
    os.close(theirs)
    with suppress(OSError):
        os.close(ours)


WAYS = {"a full disk": full_disk, "a pipe": pipe, "a terminal": terminal}


def run(command: list[str], folder: Path, environment: dict[str, str], way: str, closed: Path) -> tuple[int, str]:
    """Run a command that loses its stderr; return its exit code and stdout."""
    with WAYS[way]() as stderr:
        child = subprocess.Popen(
            [str(BRIDLE), *command],
            cwd=folder,
            env=environment | {"TERM": "xterm"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr.fd,
            text=True,
        )
        stderr.lose()
        closed.touch()
        output, _ = child.communicate(timeout=LIMIT_SECONDS)
        return child.returncode, output


@pytest.mark.parametrize("way", WAYS)
def test_a_run_that_loses_its_stderr_completes(tmp_path: Path, way: str) -> None:
    here = make_project(tmp_path, TWO_TASKS, WAITS)
    closed = here.agent_folder / "closed"
    code, output = run(["run", "PLAN.md", "--json"], here.folder, here.environment(), way, closed)
    assert (code, verdicts(json.loads(output))) == (0, {"One": "done", "Two": "done"})


@pytest.mark.parametrize("way", WAYS)
def test_ask_and_drive_that_lose_their_stderr_keep_their_result(tmp_path: Path, way: str) -> None:
    closed = tmp_path / "bin" / "closed"  # beside the agent, where it can look in the sandbox too
    script = Script().out(init()).until(closed).out(says("the answer"), result("the answer"))
    source = 'async def process(inputs, ctx):\n    return await ctx.task(agent, {"prompt": "go"})\n'
    driven = new_driven_run(tmp_path, source, script=script)
    code, output = run(["ask", "go"], driven.folder, driven.environment, way, closed)
    assert (code, output.strip()) == (0, "the answer")
    closed.unlink()
    code, output = run(["drive", "r1", "--json"], driven.folder, driven.environment, way, closed)
    assert (code, json.loads(output)["status"]) == (0, "completed")


def test_a_run_that_ignores_hangups_survives_the_end_of_its_terminal(tmp_path: Path) -> None:
    here = make_project(tmp_path, TWO_TASKS, WAITS)
    master, slave = pty.openpty()

    def prepare() -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

    child = subprocess.Popen(
        [str(BRIDLE), "run", "PLAN.md", "--json"],
        cwd=here.folder,
        env=here.environment(TERM="xterm"),
        stdin=slave,
        stdout=subprocess.PIPE,
        stderr=slave,
        text=True,
        start_new_session=True,
        pass_fds=[slave],
        preexec_fn=prepare,
    )
    os.close(slave)
    select.select([master], [], [], LIMIT_SECONDS)
    os.close(master)
    (here.agent_folder / "closed").touch()
    output, _ = child.communicate(timeout=LIMIT_SECONDS)
    assert (child.returncode, verdicts(json.loads(output))) == (0, {"One": "done", "Two": "done"})

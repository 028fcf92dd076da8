"""A KeyboardInterrupt of a process fails its run; the user's SIGINT interrupts the program."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from bridle.engine.process.load_process import load
from bridle.engine.process.user_interrupt import UserInterrupt
from tests.engine.fixtures.iterated_runs import IteratedRun
from tests.fixtures.bridle_program import BRIDLE

# A hang is a failure; a cold start on a busy machine takes a few seconds.
LIMIT_SECONDS = 60
SIGINT = "import os, signal; os.kill(os.getpid(), signal.SIGINT)"


@pytest.mark.parametrize(
    "body",
    [
        "raise KeyboardInterrupt('mine')",
        "async with asyncio.TaskGroup() as group:\n        group.create_task(interrupt())",
        "await asyncio.gather(interrupt(), asyncio.Event().wait())",
    ],
)
def test_a_process_that_raises_a_keyboard_interrupt_fails_its_run(tmp_path: Path, body: str) -> None:
    source = f"""
async def interrupt():
    raise KeyboardInterrupt("mine")

async def process(inputs, ctx):
    {body}
"""
    iterated = IteratedRun(tmp_path, source, in_memory=True)
    for _ in range(2):  # also once it is recorded
        found = iterated.iterate()
        assert (found.status, found.failure and (found.failure.name, found.failure.message)) == (
            "failed",
            ("KeyboardInterrupt", "mine"),
        )


def test_bridle_drives_such_a_process_to_its_end_and_replays_it(tmp_path: Path) -> None:
    iterated = IteratedRun(tmp_path, "async def process(inputs, ctx):\n    raise KeyboardInterrupt('mine')\n")
    for command, code in (("drive", 1), ("replay", 0)):
        done = subprocess.run(
            [BRIDLE, command, str(iterated.run)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
            check=False,
        )
        assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stderr
    assert iterated.store.state().position.end == "failed"


def test_the_users_sigint_ends_the_iteration_and_not_the_run(tmp_path: Path) -> None:
    iterated = IteratedRun(tmp_path, f"async def process(inputs, ctx):\n    {SIGINT}\n")
    with pytest.raises(KeyboardInterrupt):
        iterated.iterate()
    assert iterated.store.state().position.end is None


def test_the_users_sigint_ends_an_import(tmp_path: Path) -> None:
    path = tmp_path / "process.py"
    path.write_text(f"{SIGINT}\n", encoding="utf-8")
    with pytest.raises(KeyboardInterrupt):
        load(path)


def test_the_handler_is_called_and_stays() -> None:
    received: list[int] = []

    def handler(number: int, _frame: object) -> None:
        received.append(number)

    before = signal.signal(signal.SIGINT, handler)
    try:
        interrupt = UserInterrupt()
        with interrupt.watched():
            os.kill(os.getpid(), signal.SIGINT)
        assert (received, interrupt.has_arrived) == ([signal.SIGINT], True)
        assert signal.getsignal(signal.SIGINT) is handler
    finally:
        signal.signal(signal.SIGINT, before)

"""What signals do to the commands that users start."""

from __future__ import annotations

import signal
import subprocess
import sys

# A hang is a failure; a cold start on a busy machine takes a few seconds.
LIMIT_SECONDS = 60.0

# Work that cleans up for ever.
PROGRAM = """
import asyncio
from bridle.cli.user_interface.terminal import run_interruptible

async def clean_up():
    print("cleaning up", flush=True)
    await asyncio.Event().wait()

async def work():
    try:
        print("working", flush=True)
        await asyncio.Event().wait()
    finally:
        await asyncio.create_task(clean_up())

print(run_interruptible(work()))
"""


def test_a_second_signal_cancels_the_cleanup_too() -> None:
    with subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "working\n"
        child.send_signal(signal.SIGINT)
        assert child.stdout.readline() == "cleaning up\n"
        child.send_signal(signal.SIGINT)
        assert child.communicate(timeout=LIMIT_SECONDS)[0] == "None\n"
    assert child.returncode == 0

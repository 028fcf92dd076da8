"""Many small turns in one process: each is answered, and the memory stays flat."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path

import psutil

from bridle.stage.script import load_script
from bridle.stage.server import Stage
from tests.fixtures.bridle_program import BRIDLE_AGENT as AGENT
from tests.sizes import SIZES

TURNS = SIZES.turns_in_one_process
# By now every module is imported, every pool is filled and the heap has its shape.
WARM_TURNS = 100
# What a turn has to keep: two messages of the conversation, each an object of a few hundred bytes. The rest of the
# margin is what the allocator may round up to.
KEPT_BYTES_PER_TURN = 2_000
MARGIN_BYTES = 6 * 1024 * 1024
# A turn takes some ten milliseconds; a thousand times that on a machine that does other things as well.
TURN_LIMIT_SECONDS = 30.0
MEGABYTE = 1024 * 1024

ANSWER = {"blocks": ["ok"], "usage": {"input_tokens": 10, "output_tokens": 1}, "times": "forever"}


def test_a_thousand_turns_in_one_process_leave_its_memory_flat(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    warm, last = asyncio.run(talk(tmp_path))
    grown = last - warm
    record_property(
        "count",
        f"turns of bridle-agent in one process: {TURNS:,}; "
        f"{warm / MEGABYTE:.1f} MB after {WARM_TURNS}, {last / MEGABYTE:.1f} MB at the end",
    )
    assert grown <= MARGIN_BYTES + KEPT_BYTES_PER_TURN * (TURNS - WARM_TURNS), f"{grown / MEGABYTE:.1f} MB"


async def talk(folder: Path) -> tuple[int, int]:
    """Have all the turns; the resident memory after the first hundred and at the end."""
    script = load_script({"answers": [ANSWER]})
    async with Stage(script, kept_requests=1) as stage:
        process = await asyncio.create_subprocess_exec(
            *(str(AGENT), "-p", "--verbose", "--tools", "", "--model", "haiku"),
            *("--input-format", "stream-json", "--output-format", "stream-json"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            cwd=folder,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(folder),
                "CLAUDE_CONFIG_DIR": str(folder / ".claude"),
                "ANTHROPIC_API_KEY": "dummy",
                "ANTHROPIC_BASE_URL": stage.url,
            },
        )
        try:
            measured = []
            for number in range(1, TURNS + 1):
                await asyncio.wait_for(turn(process, number), TURN_LIMIT_SECONDS)
                if number in (WARM_TURNS, TURNS):
                    measured.append(psutil.Process(process.pid).memory_info().rss)
            assert process.stdin is not None
            process.stdin.close()
            assert await asyncio.wait_for(process.wait(), TURN_LIMIT_SECONDS) == 0
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
    warm, last = measured
    return warm, last


async def turn(process: asyncio.subprocess.Process, number: int) -> None:
    """Say something and read until the turn's own result."""
    assert process.stdin is not None
    assert process.stdout is not None
    message = {"type": "user", "message": {"role": "user", "content": f"turn {number}"}}
    process.stdin.write(json.dumps(message).encode() + b"\n")
    await process.stdin.drain()
    while True:
        line = await process.stdout.readline()
        assert line, "the agent ended"
        event = json.loads(line)
        if event["type"] == "result":
            assert (event["subtype"], event["result"], event["num_turns"]) == ("success", "ok", 1)
            assert event["modelUsage"]["claude-haiku-4-5-20251001"]["inputTokens"] == 10 * number
            return

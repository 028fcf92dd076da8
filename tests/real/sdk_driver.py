"""Drives an agent through the official Python SDK, in the SDK's own environment, where nothing of Bridle is installed.

It is told what to do by one JSON document on stdin, and prints every message that the SDK gave as one line of JSON.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from claude_agent_sdk import (  # type: ignore[import-not-found]  # of the SDK's own environment
    ClaudeAgentOptions,
    ClaudeSDKClient,
    ClaudeSDKError,
    query,
)

# A tool starts within a second of its call; on a busy machine, within ten.
FILE_LIMIT_SECONDS = 60.0
_POLL_SECONDS = 0.02


async def main(order: dict[str, Any]) -> None:
    """Do what is asked, and print what comes."""
    options = ClaudeAgentOptions(**order["options"])
    if order["via"] == "query":
        try:
            await show(query(prompt=order["prompt"], options=options))
        except ClaudeSDKError as error:
            tell({"class": type(error).__name__, "text": str(error)})
        return
    async with ClaudeSDKClient(options=options) as client:
        for turn in order["turns"]:
            await client.query(turn["prompt"])
            if turn.get("interrupt_when"):
                await wait_for(Path(turn["interrupt_when"]))
                await client.interrupt()
            await show(client.receive_response())
        tell({"class": "info", **(await client.get_server_info() or {})})


async def show(messages: AsyncIterator[Any]) -> None:
    """Print each message with the name of its class."""
    async for message in messages:
        tell({"class": type(message).__name__, **dataclasses.asdict(message)})


def tell(fields: dict[str, Any]) -> None:
    """Print one line of JSON."""
    sys.stdout.write(json.dumps(fields, default=repr) + "\n")
    sys.stdout.flush()


async def wait_for(path: Path) -> None:
    """Wait for a file that a tool makes."""
    deadline = time.monotonic() + FILE_LIMIT_SECONDS
    while not path.exists():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{path} did not appear in {FILE_LIMIT_SECONDS:g} seconds")
        await asyncio.sleep(_POLL_SECONDS)


if __name__ == "__main__":
    asyncio.run(main(json.load(sys.stdin)))

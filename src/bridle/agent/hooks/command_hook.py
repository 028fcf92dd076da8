"""Runs one hook of type command: it reads the event on standard input and decides by exit code and output."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bridle.agent.hooks.definitions import CommandHook
from bridle.agent.hooks.outcome import HookOutput
from bridle.errors import ProcessError
from bridle.wire.events.loose_json import from_json, to_bytes

# More of a hook's output is not read: it is a decision or a text for the model.
_OUTPUT_CHARACTERS = 100_000
# A command that prints this as its first line continues in the background.
_ASYNC = "async"


async def run_command(
    hook: CommandHook, payload: dict[str, Any], cwd: Path, environment: Mapping[str, str], is_async: asyncio.Event
) -> HookOutput:
    """Run it to its end; set `is_async` when it prints that nothing need wait for it."""
    from bridle.ground.children.capture import capture  # late: most sessions have no hooks

    output = _Output(asyncio.get_running_loop(), is_async)
    argv = ("/bin/sh", "-c", hook.command) if hook.arguments is None else (hook.command, *hook.arguments)
    try:
        done = await capture(
            argv,
            cwd=cwd,
            environment=environment,
            limit_seconds=hook.timeout_seconds,
            stdin=to_bytes(payload) + b"\n",
            on_stdout=output.add,
            waits_for_output=False,
        )
    except ProcessError as error:
        return HookOutput(hook.name, None, stderr=error.message)
    stdout = output.data.decode("utf-8", "replace")[:_OUTPUT_CHARACTERS]
    return HookOutput(hook.name, done.exit_code, stdout, _decode(done.stderr))


class _Output:
    """Collects standard output, and notes a first line `{"async": true}`."""

    def __init__(self, loop: asyncio.AbstractEventLoop, is_async: asyncio.Event) -> None:
        self.data = bytearray()
        self._loop, self._is_async = loop, is_async
        self._is_first = True

    def add(self, chunk: bytes) -> None:
        """Add a chunk; called in the reading thread."""
        self.data += chunk[: max(_OUTPUT_CHARACTERS * 4 - len(self.data), 0)]
        if self._is_first and b"\n" in chunk:
            self._is_first = False
            answer = from_json(bytes(self.data.partition(b"\n")[0]))
            if isinstance(answer, dict) and answer.get(_ASYNC) is True:
                self._loop.call_soon_threadsafe(self._is_async.set)


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "replace")[:_OUTPUT_CHARACTERS]

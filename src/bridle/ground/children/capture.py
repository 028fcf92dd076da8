"""Run a command to its end within a time limit, and end everything it started."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from bridle.errors import ProcessError
from bridle.ground import ids
from bridle.ground.children import child_process
from bridle.ground.children.child_process import Child, Spawn, StopTimeouts
from bridle.ground.children.output_pump import Tap
from bridle.ground.children.spawn import Sandbox
from bridle.ground.descendants.proc_files import PROCESS_LIMIT

# A command whose output is kept in memory is ended when it prints more.
OUTPUT_LIMIT_BYTES = 16 * 1024 * 1024
# What is left in the pipe of a command that has ended is read in moments; only a disk that hangs takes longer.
DRAIN_SECONDS = 10.0


class CapturedOutput(Struct, frozen=True):
    """The output of a command and how it ended."""

    stdout: bytes
    """Empty where `on_stdout` received it."""
    stderr: bytes
    """The last 64 KiB."""
    exit_code: int | None
    """Minus the number of the signal that ended it; None where it was ended at a limit."""
    reached_limit: int | None = None
    """The number of processes above which everything was killed, if there were more."""


async def capture(
    argv: tuple[str, ...],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    limit_seconds: float,
    stdin: bytes | None = None,
    on_stdout: Tap | None = None,
    on_stderr: Tap | None = None,
    waits_for_output: bool = True,
    sandbox: Sandbox | None = None,
    acts_for_user: bool = False,
    process_limit: int = PROCESS_LIMIT,
) -> CapturedOutput:
    """Run a command; at the limit, and when the caller is cancelled, end it with all its descendants.

    The callbacks receive each chunk in the reading thread; what they raise ends the command and is raised here.
    With `waits_for_output` the command is over once its pipes are closed, also by its background processes; without,
    as soon as it exits. A command that leaves its stdin unread does not fail for it. One that `acts_for_user` may steer
    runs, as the user may.
    """
    collected = _StdoutBuffer()
    token = f"{ids.USER_PREFIX if acts_for_user else ''}{ids.new_token()}"
    child = await child_process.start(
        Spawn(argv, cwd, environment, token, stdin is not None, sandbox, process_limit),
        on_chunk=on_stdout or collected.add,
        on_stderr=on_stderr,
    )
    try:
        exit_code = await _run(child, stdin, limit_seconds, waits_for_output=waits_for_output)
    except _OutputLimit:
        exit_code = None
    finally:
        await child.close()
    if child.tap_error is not None and not isinstance(child.tap_error, _OutputLimit):
        raise child.tap_error
    return CapturedOutput(bytes(collected.data), child.stderr_tail, exit_code, child.reached_limit)


class _OutputLimit(Exception):
    """A command printed more than is kept in memory."""


class _StdoutBuffer:
    """Collects stdout in memory."""

    def __init__(self) -> None:
        self.data = bytearray()

    def add(self, chunk: bytes) -> None:
        self.data += chunk
        if len(self.data) > OUTPUT_LIMIT_BYTES:
            raise _OutputLimit


async def _run(child: Child, stdin: bytes | None, limit_seconds: float, *, waits_for_output: bool) -> int | None:
    reading = asyncio.create_task(_read_all(child))
    writing = asyncio.create_task(_write_stdin(child, stdin, limit_seconds))
    is_over = False
    try:
        exit_code = await _wait(child, reading, limit_seconds, for_output=waits_for_output)
        is_over = exit_code is not None and waits_for_output
        return exit_code
    finally:
        writing.cancel()
        try:
            if not is_over:
                await child.stop(timeouts=StopTimeouts())
                await asyncio.wait({reading}, timeout=DRAIN_SECONDS)
        finally:
            reading.cancel()
            await asyncio.gather(reading, writing, return_exceptions=True)


async def _wait(child: Child, reading: asyncio.Task[None], limit_seconds: float, *, for_output: bool) -> int | None:
    """Return the exit code; None at the limit. Raise what a callback raised as soon as it did."""
    exited = asyncio.create_task(child.wait(limit_seconds))
    try:
        if for_output:
            until = asyncio.FIRST_EXCEPTION
            await asyncio.wait({exited, reading}, timeout=limit_seconds, return_when=until)
        else:
            await asyncio.wait({exited, reading}, return_when=asyncio.FIRST_COMPLETED)
        if reading.done():
            reading.result()
        elif for_output:
            return None
        return await exited
    finally:
        exited.cancel()


async def _read_all(child: Child) -> None:
    while await child.read() is not None:
        pass


async def _write_stdin(child: Child, data: bytes | None, limit_seconds: float) -> None:
    if data is None:
        return
    try:
        await child.write(data, limit_seconds=limit_seconds)
    except ProcessError:
        pass  # a command may end, or close its input, before it has read all of it
    await child.close_stdin()

"""A server that is a child process: one message per line on its standard streams."""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping
from pathlib import Path

from bridle.agent.mcp.transports.messages import Lines, decode, encode
from bridle.agent.mcp.transports.transport import TOO_LARGE, JsonObject, Note, Receiver
from bridle.errors import ServerFailure

CLOSED = "MCP error -32000: Connection closed"
# A server that reads its input ends within this time after the input has ended.
END_SECONDS = 0.5
# Then it gets SIGTERM, and has this time to clean up before SIGKILL.
TERMINATE_SECONDS = 0.5
# A server that does not read its input for so long is stuck.
WRITE_SECONDS = 30.0
# The cause of a failed start is in the last lines.
STDERR_TAIL_BYTES = 2000
CHUNK_BYTES = 256 * 1024


class StdioTransport:
    """Starts a program and speaks with it; the program and its descendants end with the connection."""

    def __init__(
        self, command: str, args: tuple[str, ...], *, cwd: Path, environment: Mapping[str, str], note: Note
    ) -> None:
        self._command, self._args, self._cwd, self._environment = command, args, cwd, environment
        self._note = note
        self._process: Process | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._stderr = b""

    async def open(self, receiver: Receiver) -> None:
        """Start the program. Raises ServerFailure if that fails."""
        try:
            self._process = await asyncio.create_subprocess_exec(
                self._command,
                *self._args,
                stdin=PIPE,
                stdout=PIPE,
                stderr=PIPE,
                cwd=self._cwd,
                env=dict(self._environment),
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise ServerFailure(f"cannot start {self._command}: {reason}") from error
        self._tasks = [
            asyncio.create_task(self._read(self._process, receiver)),
            asyncio.create_task(self._read_stderr(self._process)),
        ]

    async def send(self, message: JsonObject) -> None:
        """Write one line."""
        process = self._process
        if process is None or process.stdin is None or process.returncode is not None:
            raise ServerFailure(CLOSED)
        try:
            process.stdin.write(encode(message) + b"\n")
            async with asyncio.timeout(WRITE_SECONDS):
                await process.stdin.drain()
        except TimeoutError as error:
            raise ServerFailure(f"the server reads no input for {WRITE_SECONDS:g} seconds") from error
        except (OSError, RuntimeError) as error:
            raise ServerFailure(CLOSED) from error

    async def ready(self, protocol_version: str) -> None:
        """Do nothing: a pipe has no session."""

    async def close(self) -> None:
        """End the program: close its input, then SIGTERM, then SIGKILL to its group."""
        process = self._process
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        for number, seconds in ((signal.SIGTERM, END_SECONDS), (signal.SIGKILL, TERMINATE_SECONDS)):
            if await _has_ended(process, seconds):
                break
            _signal_group(process.pid, number)
        await process.wait()
        _signal_group(process.pid, signal.SIGKILL)  # what it started and left
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        # Closes the pipes, also those that a daemon of the server holds.
        process._transport.close()  # type: ignore[attr-defined]  # asyncio offers no other way

    async def _read(self, process: Process, receiver: Receiver) -> None:
        assert process.stdout is not None  # noqa: S101 -- for the type checker: it is a pipe
        lines, dropped = Lines(), 0
        while chunk := await process.stdout.read(CHUNK_BYTES):
            for line in lines.feed(chunk):
                self._deliver(line, receiver)
            if lines.dropped > dropped:
                dropped = lines.dropped
                receiver.fail_pending(TOO_LARGE)
        receiver.lost(await self._cause())

    def _deliver(self, line: bytes, receiver: Receiver) -> None:
        messages = decode(line)
        if not messages and line.strip():
            self._note(f"{self._command} printed a line that is not JSON: {line[:200]!r}")
        for message in messages:
            receiver.receive(message)

    async def _read_stderr(self, process: Process) -> None:
        assert process.stderr is not None  # noqa: S101 -- for the type checker: it is a pipe
        while chunk := await process.stderr.read(CHUNK_BYTES):
            self._stderr = (self._stderr + chunk)[-STDERR_TAIL_BYTES:]

    async def _cause(self) -> str:
        """Return why the connection ended; for a failed start, with the end of its standard error in the debug log."""
        await asyncio.wait(self._tasks[1:], timeout=END_SECONDS)
        words = self._stderr.decode("utf-8", "replace").strip()
        if words:
            self._note(f"{self._command} printed on standard error: {words}")
        return CLOSED


async def _has_ended(process: Process, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await process.wait()
    except TimeoutError:
        return False
    return True


def _signal_group(pid: int, number: int) -> None:
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):
        pass

"""The command `bridle-agent acp`: speaks the Agent Client Protocol on standard input and output."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable

from bridle.agent.acp.server import AcpServer
from bridle.agent.stdio.output import Output
from bridle.errors import UsageError
from bridle.wire.events.lines import Lines, Oversize

USAGE = """usage: bridle-agent acp [flags]

Speaks the Agent Client Protocol on standard input and output; editors start it. The flags are those of every session:
--model, --permission-mode, --allowedTools, --add-dir, --settings, --mcp-config and others (bridle-agent --help).
"""

_CHUNK_BYTES = 256 * 1024
_SIGNAL_CODE = 128


def main(arguments: list[str]) -> int:
    """Run `bridle-agent acp …` and return the exit code."""
    if arguments[:1] in (["-h"], ["--help"]):
        sys.stdout.write(USAGE)
        return 0
    if any(
        argument in ("-p", "--print", "--resume", "-r", "--continue", "-c", "--session-id") for argument in arguments
    ):
        raise UsageError(
            "Error: prompts and sessions come from the editor. Remove -p, --resume, --continue, --session-id."
        )
    return asyncio.run(_serve(arguments))


async def _serve(arguments: list[str]) -> int:
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    output = Output()
    server = AcpServer(arguments, dict(os.environ), output.write)
    received: list[int] = []

    def on_signal(number: int) -> None:
        received.append(number)
        ended.set()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, on_signal, number)
    threading.Thread(target=_read_all, args=(loop, server.peer.receive, ended.set), name="input", daemon=True).start()
    await ended.wait()
    try:
        await server.close()
        await output.drained()
    except BrokenPipeError:
        return _SIGNAL_CODE + signal.SIGPIPE
    return _SIGNAL_CODE + received[0] if received else 0


def _read_all(
    loop: asyncio.AbstractEventLoop, receive: Callable[[bytes], None], end: Callable[[], None], descriptor: int = 0
) -> None:
    lines = Lines()
    try:
        while chunk := _read(descriptor):
            for line in lines.feed(chunk):
                # A line above every limit is answered as one that is not JSON.
                loop.call_soon_threadsafe(receive, b"" if isinstance(line, Oversize) else line)
        loop.call_soon_threadsafe(end)
    except RuntimeError:  # the event loop is closed
        return


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, _CHUNK_BYTES)
    except OSError:  # closed by the parent process
        return b""

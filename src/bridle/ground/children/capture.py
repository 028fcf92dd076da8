"""Run a short command to its end and keep what it printed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bridle.errors import ProcessError
from bridle.ground import ids
from bridle.ground.children import child_process
from bridle.ground.children.child_process import Child, Spawn, StopTimeouts

# What a command asked for a fact may print. More is not an answer.
OUTPUT_LIMIT_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True)
class Captured:
    """What a command printed and how it ended; the exit code is None when its time was over."""

    stdout: bytes
    stderr: bytes
    exit_code: int | None


async def capture(
    argv: tuple[str, ...],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    limit_seconds: float,
    given: bytes | None = None,
) -> Captured:
    """Run a command; when its time is over or it prints too much, it is ended with all it has started.

    What is given goes to its standard input; a command that does not read it is none the worse for it.
    """
    child = await child_process.start(Spawn(argv, cwd, environment, ids.new_token(), talk=given is not None))
    feeding = None if given is None else asyncio.create_task(_feed(child, given, limit_seconds))
    chunks: list[bytes] = []
    size_bytes = 0
    exit_code = None
    try:
        async with asyncio.timeout(limit_seconds):
            while size_bytes <= OUTPUT_LIMIT_BYTES and (chunk := await child.read()) is not None:
                chunks.append(chunk)
                size_bytes += len(chunk)
            if size_bytes <= OUTPUT_LIMIT_BYTES:
                exit_code = await child.wait(None)
    except TimeoutError:
        pass
    finally:
        if feeding is not None:
            feeding.cancel()
            await asyncio.wait({feeding})
        if exit_code is None:
            await child.stop(patience=StopTimeouts())
        await child.close()
    return Captured(b"".join(chunks), child.stderr_tail, exit_code)


async def _feed(child: Child, given: bytes, limit_seconds: float) -> None:
    try:
        await child.write(given, limit_seconds=limit_seconds)
    except ProcessError:
        pass  # it ended, or closed its input, before it had read everything: its own choice
    await child.close_stdin()

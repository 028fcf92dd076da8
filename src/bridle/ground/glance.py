"""Ask a short command for a fact. Light: where a child needs a watchdog, an inlet or a guard, use `process`."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping
from pathlib import Path

_CHUNK_BYTES = 64 * 1024


async def glance(
    argv: tuple[str, ...], *, cwd: Path, environment: Mapping[str, str], limit_seconds: float, limit_bytes: int
) -> bytes | None:
    """What the command printed, up to the limit; None where it failed, was not found or took too long.

    The command has a group of its own, which is killed as soon as nobody waits for it any more.
    """
    try:
        child = await asyncio.create_subprocess_exec(
            *argv,
            cwd=cwd,
            env=dict(environment),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        return None
    is_whole = False
    try:
        async with asyncio.timeout(limit_seconds):
            output = await _read(child, limit_bytes)
            is_whole = len(output) <= limit_bytes and await child.wait() == 0
    except TimeoutError:
        return None
    finally:
        if child.returncode is None:
            await _kill(child)
    # What stopped at the limit has been killed for it; it has said enough.
    return output[:limit_bytes] if is_whole or len(output) > limit_bytes else None


async def _read(child: asyncio.subprocess.Process, limit_bytes: int) -> bytes:
    assert child.stdout is not None  # noqa: S101 -- it was asked for as a pipe
    parts: list[bytes] = []
    size = 0
    while size <= limit_bytes and (part := await child.stdout.read(_CHUNK_BYTES)):
        parts.append(part)
        size += len(part)
    return b"".join(parts)


async def _kill(child: asyncio.subprocess.Process) -> None:
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    await asyncio.shield(child.wait())  # a killed child is reaped at once, also where we are being cancelled

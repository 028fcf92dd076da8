"""Ask a short command for a fact. Light: where a child needs a watchdog, an inlet or a guard, use `process`."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

_CHUNK_BYTES = 64 * 1024

# A command that has closed its output ends at once; this is how soon that is seen, and how rarely one is asked that
# does not.
_FIRST_LOOK_SECONDS = 0.001
_LATER_LOOK_SECONDS = 0.05

# A killed process is gone at once unless the kernel itself waits for a disk; then nobody else should.
_KILLED_SECONDS = 1.0


async def glance(
    argv: tuple[str, ...], *, cwd: Path, environment: Mapping[str, str], limit_seconds: float, limit_bytes: int
) -> bytes | None:
    """What the command printed, up to the limit; None where it failed, was not found or took too long.

    The command has a group of its own, which is killed as soon as nobody waits for it any more.
    """
    try:
        child = subprocess.Popen(
            argv,
            cwd=cwd,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        return None
    try:
        async with asyncio.timeout(limit_seconds):
            output = await _read(child, limit_bytes)
            # What is cut at the limit is killed for it; it has said enough.
            is_good = len(output) > limit_bytes or await _exit_code(child) == 0
    except TimeoutError:
        return None
    finally:
        _end(child)
    return output[:limit_bytes] if is_good else None


async def _read(child: subprocess.Popen[bytes], limit_bytes: int) -> bytes:
    assert child.stdout is not None  # noqa: S101 -- it was asked for as a pipe
    fd = child.stdout.fileno()
    os.set_blocking(fd, False)
    readable = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(fd, readable.set)
    output = bytearray()
    try:
        while len(output) <= limit_bytes:
            try:
                part = os.read(fd, _CHUNK_BYTES)
            except BlockingIOError:
                readable.clear()
                await readable.wait()
                continue
            if not part:
                break
            output += part
    finally:
        loop.remove_reader(fd)
    return bytes(output)


async def _exit_code(child: subprocess.Popen[bytes]) -> int:
    pause = _FIRST_LOOK_SECONDS
    while (code := child.poll()) is None:
        await asyncio.sleep(pause)
        pause = min(pause * 2, _LATER_LOOK_SECONDS)
    return code


def _end(child: subprocess.Popen[bytes]) -> None:
    """Kill what is left of the command, and let its pipe go."""
    assert child.stdout is not None  # noqa: S101 -- it was asked for as a pipe
    child.stdout.close()
    if child.poll() is None:
        try:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait(_KILLED_SECONDS)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            pass

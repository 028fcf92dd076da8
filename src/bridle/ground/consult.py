"""Ask a small program that starts nothing of its own for long, such as a search or git: quick, bounded, and gone when
nobody waits.

For programs that may start others, or outlive us to somebody's harm, there is `capture`, which watches over them.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bridle.errors import ProcessError

# Of an error message the beginning is enough.
STDERR_LIMIT_BYTES = 64 * 1024
# A killed program is gone at once unless the kernel holds it, say for a network disk that does not answer.
KILL_SECONDS = 5.0
_CHUNK_BYTES = 256 * 1024


@dataclass(frozen=True)
class Consulted:
    """What the program printed and how it ended."""

    stdout: bytes
    stderr: bytes
    exit_code: int | None
    """None when it was ended by us."""
    is_late: bool = False
    """Its time was over."""
    is_cut: bool = False
    """It printed more than was wanted; what is kept is the beginning."""


async def consult(
    argv: tuple[str, ...],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    limit_seconds: float,
    limit_bytes: int,
    given: bytes | None = None,
    apart: bool = False,
) -> Consulted:
    """Run the program with what it is given, or no input; when its time is over or it prints too much, it is ended.

    `apart`: a Ctrl-C in the terminal is not for it.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            cwd=cwd,
            env=environment,
            stdin=asyncio.subprocess.DEVNULL if given is None else asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=apart,
        )
    except OSError as error:
        raise ProcessError(
            f"{argv[0]} could not be started in {cwd}: {error.strerror or error}",
            remedy="Check that the program and the folder are there and may be used.",
            payload=error.errno,
        ) from error
    try:
        return await _listen(process, given, limit_seconds, limit_bytes)
    finally:
        await _end(process)


async def _listen(
    process: asyncio.subprocess.Process, given: bytes | None, limit_seconds: float, limit_bytes: int
) -> Consulted:
    stdout, stderr = bytearray(), bytearray()
    is_late = False
    try:
        async with asyncio.timeout(limit_seconds), asyncio.TaskGroup() as group:
            group.create_task(_keep(process, stdout, limit_bytes))
            group.create_task(_keep_beginning(process, stderr))
            if given is not None:
                group.create_task(_feed(process, given))
            await process.wait()
    except TimeoutError:
        is_late = True
    is_cut = len(stdout) > limit_bytes
    exit_code = None if is_late or is_cut else process.returncode
    return Consulted(bytes(stdout[:limit_bytes]), bytes(stderr), exit_code, is_late, is_cut)


async def _feed(process: asyncio.subprocess.Process, given: bytes) -> None:
    """Give it its input; a program that does not read it all is none the worse for it."""
    assert process.stdin is not None  # noqa: S101  # for the type checker: it was asked for
    try:
        process.stdin.write(given)
        await process.stdin.drain()
        process.stdin.close()
        await process.stdin.wait_closed()
    except (BrokenPipeError, ConnectionResetError):
        pass  # it ended, or closed its input, before it had read everything: its own choice


async def _keep(process: asyncio.subprocess.Process, kept: bytearray, limit_bytes: int) -> None:
    """Keep what it prints; at the limit there is nothing more to wait for."""
    assert process.stdout is not None  # noqa: S101  # for the type checker: it was asked for
    while chunk := await process.stdout.read(_CHUNK_BYTES):
        kept += chunk
        if len(kept) > limit_bytes:
            process.kill()
            return


async def _keep_beginning(process: asyncio.subprocess.Process, kept: bytearray) -> None:
    """Keep the beginning of its complaints, and let it utter the rest."""
    assert process.stderr is not None  # noqa: S101  # for the type checker: it was asked for
    while chunk := await process.stderr.read(_CHUNK_BYTES):
        kept += chunk[: max(STDERR_LIMIT_BYTES - len(kept), 0)]


async def _end(process: asyncio.subprocess.Process) -> None:
    """Have it gone and its pipes closed, also when we are cancelled while we wait for that."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):  # it has ended by itself meanwhile
            process.kill()
    if process.stdin is not None:
        process.stdin.close()
    gone = asyncio.ensure_future(_emptied(process))
    try:
        await asyncio.wait({gone}, timeout=KILL_SECONDS)
    finally:
        gone.cancel()


async def _emptied(process: asyncio.subprocess.Process) -> None:
    """Read its pipes to their ends: only then asyncio lets go of them."""
    for pipe in (process.stdout, process.stderr):
        while pipe is not None and await pipe.read(_CHUNK_BYTES):
            pass
    await process.wait()

"""Ask a small program that starts nothing of its own for long, such as a search or git: quick, bounded, and gone when
nobody waits.

For programs that may start others, or outlive us to somebody's harm, there is `capture`, which watches over them.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
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
    if _has_descriptors():
        return await _quickly(argv, cwd, environment, limit_seconds, limit_bytes, given=given, apart=apart)
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
        raise _not_started(argv, cwd, error) from error
    try:
        return await _listen(process, given, limit_seconds, limit_bytes)
    finally:
        await _end(process)


def _not_started(argv: tuple[str, ...], cwd: Path, error: OSError) -> ProcessError:
    return ProcessError(
        f"{argv[0]} could not be started in {cwd}: {error.strerror or error}",
        remedy="Check that the program and the folder are there and may be used.",
        payload=error.errno,
    )


async def _quickly(
    argv: tuple[str, ...],
    cwd: Path,
    environment: Mapping[str, str],
    limit_seconds: float,
    limit_bytes: int,
    *,
    given: bytes | None,
    apart: bool,
) -> Consulted:
    """The same where the kernel has descriptors for an end and for an input: asyncio takes twice as long for it."""
    try:
        with _input(given) as stdin:
            process = subprocess.Popen(
                argv,
                cwd=cwd,
                env=environment,
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=apart,
            )
    except OSError as error:
        raise _not_started(argv, cwd, error) from error
    hearing = _Hearing(process, limit_bytes)
    try:
        # Not awaited itself: what cancels us must not cancel it, as it tells of the end.
        done, _ = await asyncio.wait({hearing.over}, timeout=limit_seconds)
    finally:
        await hearing.end()
    is_late = not done
    exit_code = None if is_late or hearing.is_cut else process.returncode
    return Consulted(bytes(hearing.stdout[:limit_bytes]), bytes(hearing.stderr), exit_code, is_late, hearing.is_cut)


@contextlib.contextmanager
def _input(given: bytes | None) -> Iterator[int]:
    """What the program reads: a file in memory, which needs nobody to feed it."""
    if given is None:
        yield subprocess.DEVNULL
        return
    with os.fdopen(os.memfd_create("given"), "w+b") as stream:
        stream.write(given)
        stream.seek(0)
        yield stream.fileno()


@cache
def _has_descriptors() -> bool:
    """Whether the kernel gives descriptors that tell of a process's end, and for files in memory."""
    try:
        os.close(os.pidfd_open(os.getpid()))
        os.close(os.memfd_create("given"))
    except (AttributeError, OSError):
        return False
    return True


class _Hearing:
    """Takes in what a program prints, until it has ended and its pipes have."""

    def __init__(self, process: subprocess.Popen[bytes], limit_bytes: int) -> None:
        assert process.stdout is not None  # noqa: S101  # for the type checker: both were asked for
        assert process.stderr is not None  # noqa: S101  # for the type checker: both were asked for
        self.stdout, self.stderr = bytearray(), bytearray()
        self.is_cut = False
        self._process, self._limit_bytes = process, limit_bytes
        self._loop = asyncio.get_running_loop()
        self.over = self._loop.create_future()
        self._out, self._err = process.stdout.fileno(), process.stderr.fileno()
        self._pipes = (process.stdout, process.stderr)
        try:
            self._handle = os.pidfd_open(process.pid)
        except OSError as error:  # no descriptor is left
            process.kill()
            process.communicate()
            raise ProcessError(f"process {process.pid} could not be watched: {error.strerror}") from error
        self._open = {self._out, self._err, self._handle}
        for fd in self._open:
            os.set_blocking(fd, False)
            self._loop.add_reader(fd, self._take, fd)

    async def end(self) -> None:
        """Have the program gone and its pipes closed, also when we are cancelled while we wait for that."""
        if self._process.poll() is None:
            self._process.kill()
        try:
            if self._open:
                await asyncio.wait({self.over}, timeout=KILL_SECONDS)
        finally:
            for fd in list(self._open):
                self._leave(fd)
            for pipe in self._pipes:
                pipe.close()
            os.close(self._handle)
            self._process.poll()  # where it has ended after all, it is taken off the process table

    def _take(self, fd: int) -> None:
        if fd == self._handle:
            self._process.poll()
            self._leave(fd)
            return
        try:
            chunk = os.read(fd, _CHUNK_BYTES)
        except BlockingIOError:
            return
        if not chunk:
            self._leave(fd)
        elif fd == self._err:
            self.stderr += chunk[: max(STDERR_LIMIT_BYTES - len(self.stderr), 0)]
        else:
            self.stdout += chunk
            if len(self.stdout) > self._limit_bytes:  # there is nothing more to wait for
                self.is_cut = True
                self._process.kill()
                self._leave(fd)

    def _leave(self, fd: int) -> None:
        self._open.discard(fd)
        self._loop.remove_reader(fd)
        if not self._open and not self.over.done():
            self.over.set_result(None)


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

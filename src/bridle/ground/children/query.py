"""Run a short command that leaves no processes behind, such as git or a search, within limits of time and output.

For a command that starts others, or must not outlive us, use `capture`: it finds and ends its descendants.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from bridle.errors import ProcessError

# Enough of an error message.
STDERR_LIMIT_BYTES = 64 * 1024
# A killed process ends at once unless the kernel holds it, for instance on a network disk that does not respond.
KILL_SECONDS = 5.0
# The same, where the event loop cannot wait for it.
REAP_SECONDS = 1.0
_CHUNK_BYTES = 256 * 1024


class QueryResult(NamedTuple):
    """The output of a command and how it ended."""

    stdout: bytes
    stderr: bytes
    exit_code: int | None
    """None where we killed it."""
    timed_out: bool = False
    is_truncated: bool = False
    """It printed more than the limit; stdout holds the beginning."""


async def query(
    argv: tuple[str, ...],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    limit_seconds: float,
    limit_bytes: int,
    stdin: bytes | None = None,
    own_session: bool = False,
) -> QueryResult:
    """Run a command; kill it after the time limit, at the output limit, or when the caller is cancelled.

    With `own_session` Ctrl-C in the terminal does not reach it, and its whole process group is killed with it.
    """
    if _has_descriptors():
        return await _run_watched(argv, cwd, environment, limit_seconds, limit_bytes, stdin, own_session=own_session)
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            cwd=cwd,
            env=environment,
            stdin=asyncio.subprocess.DEVNULL if stdin is None else asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=own_session,
        )
    except OSError as error:
        raise _not_started(argv, cwd, error) from error
    try:
        return await _communicate(process, stdin, limit_seconds, limit_bytes)
    finally:
        await _end(process, own_session=own_session)


def _not_started(argv: tuple[str, ...], cwd: Path, error: OSError) -> ProcessError:
    return ProcessError(
        f"{argv[0]} could not be started in {cwd}: {error.strerror or error}",
        remedy="Check that the program and the folder exist and that you have permission to use them.",
        payload=error.errno,
    )


def _kill(pid: int, *, group: bool) -> None:
    with contextlib.suppress(ProcessLookupError):  # it has ended
        if group:
            os.killpg(pid, signal.SIGKILL)
        else:
            os.kill(pid, signal.SIGKILL)


async def _run_watched(
    argv: tuple[str, ...],
    cwd: Path,
    environment: Mapping[str, str],
    limit_seconds: float,
    limit_bytes: int,
    stdin: bytes | None,
    *,
    own_session: bool,
) -> QueryResult:
    """Run the command with a pidfd and an input in memory, in half the time that asyncio's subprocesses take."""
    try:
        with _open_stdin(stdin) as stdin_fd:
            process = subprocess.Popen(
                argv,
                cwd=cwd,
                env=environment,
                stdin=stdin_fd,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=own_session,
            )
    except OSError as error:
        raise _not_started(argv, cwd, error) from error
    reader = _Reader(process, limit_bytes, own_session=own_session)
    try:
        # Waited for and not awaited: a cancellation of ours must not cancel it.
        done, _ = await asyncio.wait({reader.finished}, timeout=limit_seconds)
    finally:
        await reader.end()
    exit_code = process.returncode if done and not reader.is_truncated else None
    stdout = bytes(reader.stdout[:limit_bytes])
    return QueryResult(stdout, bytes(reader.stderr), exit_code, not done, reader.is_truncated)


@contextlib.contextmanager
def _open_stdin(data: bytes | None) -> Iterator[int]:
    """Open the command's input: a file in memory, which needs no writer."""
    if data is None:
        yield subprocess.DEVNULL
        return
    with os.fdopen(os.memfd_create("stdin"), "w+b") as stream:
        stream.write(data)
        stream.seek(0)
        yield stream.fileno()


@cache
def _has_descriptors() -> bool:
    """Return whether the kernel has pidfd and memfd."""
    try:
        os.close(os.pidfd_open(os.getpid()))
        os.close(os.memfd_create("stdin"))
    except (AttributeError, OSError):
        return False
    return True


class _Reader:
    """Collects a process's output until it has exited and closed its pipes."""

    def __init__(self, process: subprocess.Popen[bytes], limit_bytes: int, *, own_session: bool) -> None:
        assert process.stdout is not None  # noqa: S101  # for the type checker: both are pipes
        assert process.stderr is not None  # noqa: S101  # for the type checker: both are pipes
        self.stdout, self.stderr = bytearray(), bytearray()
        self.is_truncated = False
        self._process, self._limit_bytes, self._own_session = process, limit_bytes, own_session
        self._loop = asyncio.get_running_loop()
        self.finished = self._loop.create_future()
        self._out, self._err = process.stdout.fileno(), process.stderr.fileno()
        self._pipes = (process.stdout, process.stderr)
        try:
            self._pidfd = os.pidfd_open(process.pid)
        except OSError as error:  # out of descriptors
            process.kill()
            process.communicate()
            raise ProcessError(f"process {process.pid} could not be watched: {error.strerror}") from error
        self._open = {self._out, self._err, self._pidfd}
        for fd in self._open:
            os.set_blocking(fd, False)
            self._loop.add_reader(fd, self._on_readable, fd)

    async def end(self) -> None:
        """Kill the process if it runs, wait for it and close its pipes, also under a cancellation."""
        if self._process.poll() is None:
            _kill(self._process.pid, group=self._own_session)
        try:
            if self._open:
                await asyncio.wait({self.finished}, timeout=KILL_SECONDS)
        except asyncio.CancelledError:
            # Cancelled again, as at the end of asyncio.run: no callback will reap it, so this blocks for moments.
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(REAP_SECONDS)
            raise
        finally:
            for fd in list(self._open):
                self._remove(fd)
            for pipe in self._pipes:
                pipe.close()
            os.close(self._pidfd)
            self._process.poll()  # reaps it if it has ended after the wait

    def _on_readable(self, fd: int) -> None:
        if fd == self._pidfd:
            self._process.poll()
            self._remove(fd)
            return
        try:
            chunk = os.read(fd, _CHUNK_BYTES)
        except BlockingIOError:
            return
        if not chunk:
            self._remove(fd)
        elif fd == self._err:
            self.stderr += chunk[: max(STDERR_LIMIT_BYTES - len(self.stderr), 0)]
        else:
            self.stdout += chunk
            if len(self.stdout) > self._limit_bytes:
                self.is_truncated = True
                if self._process.poll() is None:
                    _kill(self._process.pid, group=self._own_session)
                self._remove(fd)

    def _remove(self, fd: int) -> None:
        self._open.discard(fd)
        self._loop.remove_reader(fd)
        if not self._open and not self.finished.done():
            self.finished.set_result(None)


async def _communicate(
    process: asyncio.subprocess.Process, stdin: bytes | None, limit_seconds: float, limit_bytes: int
) -> QueryResult:
    stdout, stderr = bytearray(), bytearray()
    timed_out = False
    try:
        async with asyncio.timeout(limit_seconds), asyncio.TaskGroup() as group:
            group.create_task(_read_stdout(process, stdout, limit_bytes))
            group.create_task(_read_stderr(process, stderr))
            if stdin is not None:
                group.create_task(_write_stdin(process, stdin))
            await process.wait()
    except TimeoutError:
        timed_out = True
    is_truncated = len(stdout) > limit_bytes
    exit_code = None if timed_out or is_truncated else process.returncode
    return QueryResult(bytes(stdout[:limit_bytes]), bytes(stderr), exit_code, timed_out, is_truncated)


async def _write_stdin(process: asyncio.subprocess.Process, data: bytes) -> None:
    assert process.stdin is not None  # noqa: S101  # for the type checker: it is a pipe
    try:
        process.stdin.write(data)
        await process.stdin.drain()
        process.stdin.close()
        await process.stdin.wait_closed()
    except (BrokenPipeError, ConnectionResetError):
        pass  # a command may end, or close its input, before it has read all of it


async def _read_stdout(process: asyncio.subprocess.Process, output: bytearray, limit_bytes: int) -> None:
    assert process.stdout is not None  # noqa: S101  # for the type checker: it is a pipe
    while chunk := await process.stdout.read(_CHUNK_BYTES):
        output += chunk
        if len(output) > limit_bytes:
            process.kill()
            return


async def _read_stderr(process: asyncio.subprocess.Process, output: bytearray) -> None:
    """Keep the beginning, and read on: the command must not block on a full pipe."""
    assert process.stderr is not None  # noqa: S101  # for the type checker: it is a pipe
    while chunk := await process.stderr.read(_CHUNK_BYTES):
        output += chunk[: max(STDERR_LIMIT_BYTES - len(output), 0)]


async def _end(process: asyncio.subprocess.Process, *, own_session: bool) -> None:
    """Kill the process if it runs, wait for it and close its pipes, also under a cancellation."""
    if process.returncode is None:
        _kill(process.pid, group=own_session)
    if process.stdin is not None:
        process.stdin.close()
    drained = asyncio.ensure_future(_drain(process))
    try:
        await asyncio.wait({drained}, timeout=KILL_SECONDS)
    finally:
        drained.cancel()


async def _drain(process: asyncio.subprocess.Process) -> None:
    """Read the pipes to their ends: only then asyncio closes them."""
    for pipe in (process.stdout, process.stderr):
        while pipe is not None and await pipe.read(_CHUNK_BYTES):
            pass
    await process.wait()

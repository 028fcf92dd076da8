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
from pathlib import Path
from typing import BinaryIO

from bridle.errors import ProcessError
from bridle.ground.children import exit_watch
from bridle.ground.children.query_result import QueryResult
from bridle.ground.children.spawn import SHORTAGE_REMEDY, SHORTAGES

# Enough of an error message.
STDERR_LIMIT_BYTES = 64 * 1024
# A killed process ends at once unless the kernel holds it, for instance on a network disk that does not respond.
KILL_SECONDS = 5.0
# How long a killed process is waited for where the event loop cannot wait.
REAP_SECONDS = 1.0
_CHUNK_BYTES = 256 * 1024


async def query(
    argv: tuple[str, ...],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    limit_seconds: float,
    limit_bytes: int,
    stdin: bytes | int | None = None,
    own_session: bool = False,
) -> QueryResult:
    """Run a command; kill it after the time limit, at the output limit, or when the caller is cancelled.

    With `own_session` Ctrl-C in the terminal does not reach it, and its whole process group is killed with it. It
    takes half the time of asyncio's subprocesses: its input is a file, and its exit is watched by a pidfd.
    """
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
        raise ProcessError(
            f"{argv[0]} could not be started in {cwd}: {error.strerror or error}",
            remedy=(
                SHORTAGE_REMEDY
                if error.errno in SHORTAGES
                else "Check that the program and the folder exist and that you have permission to use them."
            ),
            payload=error.errno,
        ) from error
    reader = _Reader(process, limit_bytes, own_session=own_session)
    try:
        # Waited for and not awaited: a cancellation of ours must not cancel it.
        done, _ = await asyncio.wait({reader.finished}, timeout=limit_seconds)
    finally:
        await reader.end()
    exit_code = process.returncode if done and not reader.is_truncated else None
    stdout = bytes(reader.stdout[:limit_bytes])
    return QueryResult(stdout, bytes(reader.stderr), exit_code, timed_out=not done, is_truncated=reader.is_truncated)


@contextlib.contextmanager
def _open_stdin(data: bytes | int | None) -> Iterator[int]:
    """Open the command's input: a descriptor as it is, or a file, in memory where the system has such."""
    if data is None or isinstance(data, int):
        yield subprocess.DEVNULL if data is None else data
        return
    with _open_file() as stream:
        stream.write(data)
        stream.seek(0)
        yield stream.fileno()


def _open_file() -> BinaryIO:
    try:
        return os.fdopen(os.memfd_create("stdin"), "w+b")
    except (AttributeError, OSError):
        import tempfile  # late: Linux has files in memory

        return tempfile.TemporaryFile()


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
        self._err = process.stderr.fileno()
        self._pipes = (process.stdout, process.stderr)
        self._pidfd = exit_watch.open_handle(process.pid)
        self._runs = True
        self._open = {pipe.fileno() for pipe in self._pipes}
        for fd in self._open:
            os.set_blocking(fd, False)
            self._loop.add_reader(fd, self._on_readable, fd)
        if self._pidfd is not None:
            self._loop.add_reader(self._pidfd, self._on_exit)
        else:
            self._poll()

    async def end(self) -> None:
        """Kill the process if it runs, wait for it and close its pipes, also under a cancellation."""
        self._kill()
        try:
            if not self.finished.done():
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
            self._on_exit()  # reaps it if it has ended after the wait

    def _on_readable(self, fd: int) -> None:
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
                self._kill()
                self._remove(fd)

    def _on_exit(self) -> None:
        self._runs = False
        self._process.poll()
        if self._pidfd is not None:
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = None
        self._check_finished()

    def _poll(self) -> None:
        """Detect the exit where the system has no pidfd."""
        if self._process.poll() is not None:
            self._on_exit()
        elif self._runs:
            self._loop.call_later(exit_watch.POLL_SECONDS, self._poll)

    def _remove(self, fd: int) -> None:
        self._open.discard(fd)
        self._loop.remove_reader(fd)
        self._check_finished()

    def _check_finished(self) -> None:
        if not self._open and not self._runs and not self.finished.done():
            self.finished.set_result(None)

    def _kill(self) -> None:
        if self._process.poll() is not None:
            return
        with contextlib.suppress(ProcessLookupError):  # it has ended
            if self._own_session:
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                os.kill(self._process.pid, signal.SIGKILL)

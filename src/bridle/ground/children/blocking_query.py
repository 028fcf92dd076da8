"""Run a short command and wait for it, without an event loop and without `subprocess`.

For commands of Bridle that must start fast; all others use `query`.
"""

from __future__ import annotations

import os
import select
import time

from bridle.errors import ProcessError
from bridle.ground.children.query_result import QueryResult
from bridle.ground.light.abc_names import Callable, Iterator, Mapping

_signal = __import__("_signal")  # the numbers without the enumerations of `signal`, which are slow to import
# Enough of an error message.
STDERR_LIMIT_BYTES = 64 * 1024
# A killed process ends at once unless the kernel holds it, for instance on a network disk that does not respond.
KILL_SECONDS = 5.0
_CHUNK_BYTES = 256 * 1024
# The interval at which a process is polled that has closed its output.
_POLL_SECONDS = 0.001
# Python ignores these two, and a program expects their default action.
_IGNORED_SIGNALS = (_signal.SIGPIPE, _signal.SIGXFSZ)


def blocking_query(
    argv: tuple[str, ...],
    *,
    environment: Mapping[str, str],
    limit_seconds: float,
    limit_bytes: int,
    patience_seconds: float,
    on_patience: Callable[[], None],
) -> QueryResult:
    """Run a command in a session of its own; kill it after the time limit or at the output limit.

    `on_patience` is called once where the command takes longer than `patience_seconds`.
    """
    out, out_write = os.pipe()
    err, err_write = os.pipe()
    try:
        pid = _start(argv, environment, out_write, err_write)
    except BaseException:
        os.close(out)
        os.close(err)
        raise
    finally:
        os.close(out_write)
        os.close(err_write)
    running = _Running(pid, out, err, limit_bytes)
    try:
        is_done = running.read(patience_seconds)
        if not is_done:
            on_patience()
            is_done = running.read(limit_seconds - patience_seconds)
        is_truncated = len(running.stdout) > limit_bytes
        return QueryResult(
            bytes(running.stdout[:limit_bytes]),
            bytes(running.stderr),
            running.exit_code if is_done and not is_truncated else None,
            timed_out=not is_done,
            is_truncated=is_truncated,
        )
    finally:
        running.end()


def _start(argv: tuple[str, ...], environment: Mapping[str, str], out: int, err: int) -> int:
    """Start a program of the PATH with these two descriptors as its output; return its process id."""
    actions = (
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_DUP2, out, 1),
        (os.POSIX_SPAWN_DUP2, err, 2),
    )
    fault: OSError | None = None
    for program in _candidates(argv[0], environment):
        try:
            return os.posix_spawn(
                program, argv, environment, file_actions=actions, setsid=True, setsigdef=_IGNORED_SIGNALS
            )
        except (FileNotFoundError, NotADirectoryError, PermissionError) as error:
            fault = error
        except OSError as error:
            fault = error
            break
    raise ProcessError(
        f"{argv[0]} could not be started: {'it is not on the PATH' if fault is None else fault.strerror}",
        remedy="Check that the program exists and that you have permission to use it.",
        payload=None if fault is None else fault.errno,
    ) from fault


def _candidates(program: str, environment: Mapping[str, str]) -> Iterator[str]:
    """Yield the programs of that name on the PATH: a start that fails costs more than a look."""
    paths = (os.path.join(folder, program) for folder in os.get_exec_path(environment))
    return (path for path in paths if os.access(path, os.X_OK))


class _Running:
    """A running command and the output that it has printed."""

    def __init__(self, pid: int, out: int, err: int, limit_bytes: int) -> None:
        self.stdout, self.stderr = bytearray(), bytearray()
        self.exit_code: int | None = None
        self._pid, self._out, self._err, self._limit_bytes = pid, out, err, limit_bytes
        self._open = {out, err}
        self._poll = select.poll()
        for fd in self._open:
            self._poll.register(fd, select.POLLIN)

    def read(self, limit_seconds: float) -> bool:
        """Read until the command has ended or has printed too much; return False at the time limit."""
        deadline = time.monotonic() + limit_seconds
        while self._open:
            ready = self._poll.poll(max(0.0, deadline - time.monotonic()) * 1000)
            if not ready:
                return False
            for fd, _event in ready:
                if not self._read_chunk(fd):
                    return True
        while not self._reap():
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_SECONDS)
        return True

    def _read_chunk(self, fd: int) -> bool:
        """Read what a pipe has; return False where the command has printed more than the limit."""
        chunk = os.read(fd, _CHUNK_BYTES)
        if not chunk:
            self._poll.unregister(fd)
            self._open.discard(fd)
        elif fd == self._err:
            self.stderr += chunk[: max(STDERR_LIMIT_BYTES - len(self.stderr), 0)]
        else:
            self.stdout += chunk
        return len(self.stdout) <= self._limit_bytes

    def end(self) -> None:
        """Kill the command with its process group if it runs, reap it, and close the pipes."""
        if not self._reap():
            try:
                os.killpg(self._pid, _signal.SIGKILL)
            except ProcessLookupError:
                pass  # it has ended
            deadline = time.monotonic() + KILL_SECONDS
            while not self._reap() and time.monotonic() < deadline:
                time.sleep(_POLL_SECONDS)
        os.close(self._out)
        os.close(self._err)

    def _reap(self) -> bool:
        """Return whether the command has ended."""
        if self.exit_code is None:
            try:
                pid, status = os.waitpid(self._pid, os.WNOHANG)
            except ChildProcessError:  # the system has discarded its exit code: SIGCHLD is ignored
                pid, status = self._pid, 255 << 8
            if pid:
                self.exit_code = os.waitstatus_to_exitcode(status)
        return self.exit_code is not None

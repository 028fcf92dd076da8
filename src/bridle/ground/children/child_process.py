"""A child process: start it, read and write, wait, and end it with all its descendants."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from typing import TypeVar

from msgspec import Struct

from bridle.errors import ProcessError
from bridle.ground.children.output_pump import Pump, Tap
from bridle.ground.children.spawn import SHORTAGE_REMEDY, Launched, Spawn, SpawnFailure, launch
from bridle.ground.children.stdin import WRITE_LIMIT_SECONDS, ChildInput
from bridle.ground.children.supervised_watch import SupervisedWatch
from bridle.ground.descendants import census, keeper_client, terminate
from bridle.ground.descendants.terminate import ProcessRef
from bridle.ground.threads import in_thread, wait_uncancelled

__all__ = ["Child", "Spawn", "SpawnFailure", "StopTimeouts", "start"]

T = TypeVar("T")

# A killed child ends at once unless the kernel holds it, for instance on a network disk that does not respond.
KILL_SECONDS = 5.0

# The last bytes of a pipe are logged in moments; only a disk that hangs takes longer.
LEAVE_SECONDS = 5.0


class StopTimeouts(Struct, frozen=True):
    """The time for each step of stopping a child; None skips the step.

    With the defaults everything ends within two seconds, as a user who presses Ctrl-C expects.
    """

    stdin_seconds: float | None = 0.3
    """After closing its stdin, if that is a pipe."""
    interrupt_seconds: float | None = 0.6
    """After SIGINT. An agent that saves its work on it takes about 0.3 seconds."""
    terminate_seconds: float | None = 0.3
    """After SIGTERM. SIGKILL follows."""
    descendants_seconds: float = 0.3
    """After SIGTERM to its descendants. SIGKILL follows."""


async def start(spawn: Spawn, *, on_chunk: Tap | None = None, on_stderr: Tap | None = None) -> Child:
    """Start a child; raise ProcessError with a SpawnFailure where it cannot be started.

    The callbacks are called in a thread with every chunk of stdout and stderr, before it can be read. The caller must
    `close` the child in a `finally`.
    """
    # Before the child exists: if we are killed in between, the keeper finds it by its token.
    try:
        keeper_client.add(spawn.token)
    except ProcessError as error:
        raise _of_the_machine(error.message, error.remedy) from error
    try:
        launched = launch(spawn)
    except BaseException:
        keeper_client.drop(spawn.token)
        raise
    try:
        child = Child(spawn, launched, on_chunk, on_stderr)
    except BaseException as error:  # out of descriptors or memory: there is no Child yet to end it
        launched.discard()
        keeper_client.drop(spawn.token)
        if isinstance(error, OSError | MemoryError):
            reason = str(error) or "there is no memory left"
            raise _of_the_machine(f"{spawn.argv[0]} could not be read: {reason}", SHORTAGE_REMEDY) from error
        raise
    try:
        child._start()
    except BaseException:
        await child.close()
        raise
    return child


class Child:
    """A child process and its descendants; see `start`."""

    def __init__(self, spawn: Spawn, launched: Launched, on_chunk: Tap | None, on_stderr: Tap | None) -> None:
        self.pid = launched.pid
        self._token = spawn.token
        self._launched = launched
        self._loop = asyncio.get_running_loop()
        self._exited = asyncio.Event()
        self._watch = launched.watch
        self._stdin = ChildInput(launched.stdin) if launched.stdin is not None else None
        self._known: set[ProcessRef] = set()
        self._has_no_descendants = False
        self._closing: asyncio.Future[None] | None = None
        assert launched.stderr is not None  # noqa: S101  # for the type checker: it is a pipe
        self._pump = Pump(
            stdout_fd=launched.stdout.fileno(),
            stderr_fd=launched.stderr.fileno(),
            watch=self._watch,
            on_chunk=on_chunk,
            on_stderr=on_stderr,
            on_exit=self._on_exit,
        )

    @property
    def exit_code(self) -> int | None:
        """The exit code, or minus the number of the signal that ended it; None while it runs."""
        return self._watch.exit_code

    @property
    def reached_limit(self) -> int | None:
        """The number of processes above which everything was killed, if there were more."""
        return self._watch.reached_limit if isinstance(self._watch, SupervisedWatch) else None

    @property
    def stderr_tail(self) -> bytes:
        """The last 64 KiB of standard error."""
        return self._pump.stderr_tail

    @property
    def tap_error(self) -> Exception | None:
        """The first error of a callback, also if `read` has not raised it yet; that callback is not called again."""
        return self._pump.tap_error

    async def read(self) -> bytes | None:
        """Return the available bytes of standard output; None at its end.

        The error of a callback is raised here, once; the bytes after it can still be read.
        """
        return await self._pump.handoff.take()

    async def write(self, data: bytes, *, limit_seconds: float = WRITE_LIMIT_SECONDS) -> None:
        """Write to standard input; raise ProcessError where the child does not read it."""
        if self._stdin is None:
            raise ProcessError("the child was started without a stdin", remedy="Start it with has_stdin=True.")
        await self._stdin.write(data, limit_seconds=limit_seconds)

    async def close_stdin(self) -> None:
        """Close the child's standard input."""
        if self._stdin is not None:
            self._stdin.close()

    async def wait(self, timeout_seconds: float | None) -> int | None:
        """Wait for the exit of the child itself and return its exit code; None at the timeout."""
        try:
            async with asyncio.timeout(timeout_seconds):
                await self._exited.wait()
        except TimeoutError:
            return None
        return self.exit_code

    async def stop(self, *, timeouts: StopTimeouts) -> None:
        """End the child in steps, then its descendants; its output can still be read."""
        for step, seconds in self._steps(timeouts):
            if self.exit_code is not None:
                break
            # Once the child has ended, its children cannot be found by their parent.
            await self._find_descendants()
            step()
            await self.wait(seconds)
        await _ending(lambda: self._end_descendants(timeouts.descendants_seconds))
        self._pump.finish()

    async def close(self) -> None:
        """End all processes, the thread and close all files; not interrupted by a cancellation."""
        if self._closing is None:
            await self.close_stdin()
            self._closing = _ending(self._close_now)
        await wait_uncancelled(self._closing)

    def _start(self) -> None:
        entry = census.find_process(self._watch.root_pid or 0)
        if entry is not None:
            is_supervised = isinstance(self._watch, SupervisedWatch)
            add = keeper_client.add_supervised if is_supervised else keeper_client.add
            add(self._token, entry.pid, entry.create_time)
        try:
            self._pump.start()
        except RuntimeError as error:
            message = f"the system cannot start another thread to read process {self.pid} ({error})"
            raise _of_the_machine(message, SHORTAGE_REMEDY) from error

    def _on_exit(self) -> None:
        try:
            self._loop.call_soon_threadsafe(self._exited.set)
        except RuntimeError:
            pass  # the loop is closed

    def _steps(self, timeouts: StopTimeouts) -> list[tuple[Callable[[], None], float]]:
        steps: list[tuple[Callable[[], None], float | None]] = [
            (self._stdin.close if self._stdin else _nothing, timeouts.stdin_seconds if self._stdin else None),
            (lambda: self._watch.signal(signal.SIGINT), timeouts.interrupt_seconds),
            (lambda: self._watch.signal(signal.SIGTERM), timeouts.terminate_seconds),
            (lambda: self._watch.signal(signal.SIGKILL), KILL_SECONDS),
        ]
        return [(step, seconds) for step, seconds in steps if seconds is not None]

    async def _find_descendants(self) -> None:
        watch = self._watch
        if not isinstance(watch, SupervisedWatch):  # a supervisor loses none
            self._known.update(await _ending(lambda: terminate.find(self._token, watch.root_pid, known=self._known)))

    def _end_descendants(self, grace_seconds: float) -> None:
        watch = self._watch
        if isinstance(watch, SupervisedWatch):
            watch.end_descendants(self._token, grace_seconds)
        else:
            known = frozenset(self._known)
            terminate.end_all(self._token, watch.root_pid, grace_seconds=grace_seconds, known=known)
        self._has_no_descendants = True

    def _close_now(self) -> None:
        """Close in a thread, where no cancellation can interrupt it."""
        try:
            if not self._has_no_descendants:
                self._end_descendants(0)
        finally:
            is_reaped = self._watch.reap(limit_seconds=KILL_SECONDS)
            has_left = self._pump.leave(limit_seconds=LEAVE_SECONDS)
            if has_left:
                self._close_files()
            if is_reaped:
                keeper_client.drop(self._token)
        if not has_left:
            raise ProcessError(
                f"the log of process {self.pid} could not be written to the end",
                remedy="Check the disk that holds the log.",
            )

    def _close_files(self) -> None:
        for pipe in (self._launched.stdout, self._launched.stderr):
            if pipe is not None:
                pipe.close()
        self._watch.close()


def _of_the_machine(message: str, remedy: str | None) -> ProcessError:
    """Return the error of a machine that lacks processes, threads, memory or descriptors."""
    return ProcessError(message, remedy=remedy, payload=SpawnFailure("machine", None))


def _nothing() -> None:
    """Do nothing: a child without a stdin skips this step."""


def _ending(work: Callable[[], T]) -> asyncio.Future[T]:
    return in_thread(work, name="ending a child")

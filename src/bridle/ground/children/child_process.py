"""A child process: started, read to its end, talked to, and ended with everything it has started."""

from __future__ import annotations

import asyncio
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from bridle.errors import ProcessError
from bridle.ground.children.exit_watch import ExitWatch
from bridle.ground.children.output_pump import Pump, Tap
from bridle.ground.children.spawn import Spawn, SpawnFailure, launch
from bridle.ground.children.stdin import WRITE_LIMIT_SECONDS, ChildInput
from bridle.ground.descendants import census, keeper_client, terminate
from bridle.ground.descendants.terminate import Victim
from bridle.ground.threads import in_thread, undisturbed

__all__ = ["Child", "Spawn", "SpawnFailure", "StopTimeouts", "start"]

T = TypeVar("T")

# A killed child is gone at once unless the kernel holds it, say for a network disk that does not answer.
KILL_SECONDS = 5.0

# The last bytes of a pipe take moments to log; only a disk that hangs takes longer.
LEAVE_SECONDS = 5.0


@dataclass(frozen=True)
class StopTimeouts:
    """How long each step of stopping may take before the next one; None leaves the step out.

    With these numbers everything ends within two seconds, as a person who presses Ctrl-C expects.
    """

    stdin_seconds: float | None = 0.3
    """After closing its standard input, if we talk to it."""
    interrupt_seconds: float | None = 0.6
    """After SIGINT. An agent that saves its work on it takes about 0.3 seconds."""
    terminate_seconds: float | None = 0.3
    """After SIGTERM. SIGKILL follows."""
    descendants_seconds: float = 0.3
    """After SIGTERM to what the child has left behind. SIGKILL follows."""


async def start(spawn: Spawn, *, on_chunk: Tap | None = None, on_stderr: Tap | None = None) -> Child:
    """Start a child; ProcessError with a SpawnFailure says why it could not be.

    The taps are called in a thread with every chunk of standard output and standard error, before anybody else
    sees it. The caller must `close` the child in a `finally`.
    """
    # Before the child exists: if we are killed in between, the keeper finds it by its token.
    keeper_client.add(spawn.token)
    try:
        process = launch(spawn)
    except BaseException:
        keeper_client.drop(spawn.token)
        raise
    try:
        child = Child(spawn, process, on_chunk, on_stderr)
    except BaseException:  # no descriptor left, or no memory: there is no Child yet to end it
        _discard(process)
        keeper_client.drop(spawn.token)
        raise
    try:
        child._begin()
    except BaseException:
        await child.close()
        raise
    return child


class Child:
    """A child process and all that it starts; made by `start`."""

    def __init__(
        self, spawn: Spawn, process: subprocess.Popen[bytes], on_chunk: Tap | None, on_stderr: Tap | None
    ) -> None:
        self.pid = process.pid
        self._token = spawn.token
        self._process = process
        self._loop = asyncio.get_running_loop()
        self._exited = asyncio.Event()
        self._watch = ExitWatch(process)
        self._inlet = ChildInput(process.stdin) if process.stdin is not None else None
        self._known: set[Victim] = set()
        self._is_alone = False
        self._closing: asyncio.Future[None] | None = None
        assert process.stdout is not None  # noqa: S101  # for the type checker: launch asks for both
        assert process.stderr is not None  # noqa: S101  # for the type checker: launch asks for both
        self._pump = Pump(
            stdout_fd=process.stdout.fileno(),
            stderr_fd=process.stderr.fileno(),
            watch=self._watch,
            on_chunk=on_chunk,
            on_stderr=on_stderr,
            on_exit=self._tell_exit,
        )

    @property
    def exit_code(self) -> int | None:
        """The exit code, or minus the number of the signal that ended it; None while it lives."""
        return self._watch.exit_code

    @property
    def stderr_tail(self) -> bytes:
        """The last 64 KiB of standard error."""
        return self._pump.stderr_tail

    @property
    def tap_error(self) -> Exception | None:
        """The first error of a tap, whether or not `read` has raised it yet; that tap got nothing after it."""
        return self._pump.tap_error

    async def read(self) -> bytes | None:
        """Return the next piece of standard output, as large as there is; None at its end.

        A tap's error is raised here, once; the bytes that follow can still be read.
        """
        return await self._pump.handoff.take()

    async def write(self, data: bytes, *, limit_seconds: float = WRITE_LIMIT_SECONDS) -> None:
        """Write to standard input; ProcessError when the child does not read it or no longer can."""
        if self._inlet is None:
            raise ProcessError("this child was started without an input", remedy="Start it with talk=True.")
        await self._inlet.write(data, limit_seconds=limit_seconds)

    async def close_stdin(self) -> None:
        """Tell the child that no more input will come."""
        if self._inlet is not None:
            self._inlet.close()

    async def wait(self, timeout_seconds: float | None) -> int | None:
        """Wait for the end of the child itself and return its exit code; None when the time is over."""
        try:
            async with asyncio.timeout(timeout_seconds):
                await self._exited.wait()
        except TimeoutError:
            return None
        return self.exit_code

    async def drain(self, *, limit_seconds: float) -> None:
        """Read standard output to its end for the tap alone; at the limit what is there is taken for all."""
        try:
            async with asyncio.timeout(limit_seconds):
                while await self.read() is not None:
                    pass
        except TimeoutError:
            self._pump.finish()

    async def stop(self, *, patience: StopTimeouts) -> None:
        """End the child in steps, then everything it has started; what it has printed can still be read."""
        for step, seconds in self._steps(patience):
            if self.exit_code is not None:
                break
            # Once the child is gone its children have no parent to find them by.
            await self._remember()
            step()
            await self.wait(seconds)
        await _ending(lambda: self._end_descendants(patience.descendants_seconds))
        self._pump.finish()

    async def close(self) -> None:
        """Leave no process, no thread and no open file behind; also when the caller is cancelled meanwhile."""
        if self._closing is None:
            await self.close_stdin()
            self._closing = _ending(self._close_now)
        await undisturbed(self._closing)

    def _begin(self) -> None:
        found = census.look(self.pid)
        if found is not None:
            keeper_client.add(self._token, self.pid, found.create_time)
        try:
            self._pump.start()
        except RuntimeError as error:
            raise ProcessError(
                f"no thread could be started to read process {self.pid}: {error}",
                remedy="Run fewer agents at once, or raise the limit on processes (ulimit -u).",
            ) from error

    def _tell_exit(self) -> None:
        try:
            self._loop.call_soon_threadsafe(self._exited.set)
        except RuntimeError:
            pass  # the loop is closed: nobody waits any more

    def _steps(self, patience: StopTimeouts) -> list[tuple[Callable[[], None], float]]:
        steps: list[tuple[Callable[[], None], float | None]] = [
            (self._inlet.close if self._inlet else _nothing, patience.stdin_seconds if self._inlet else None),
            (lambda: self._watch.signal(signal.SIGINT), patience.interrupt_seconds),
            (lambda: self._watch.signal(signal.SIGTERM), patience.terminate_seconds),
            (lambda: self._watch.signal(signal.SIGKILL), KILL_SECONDS),
        ]
        return [(step, seconds) for step, seconds in steps if seconds is not None]

    async def _remember(self) -> None:
        self._known.update(await _ending(lambda: terminate.find(self._token, self._watch.root_pid, known=self._known)))

    def _end_descendants(self, grace_seconds: float) -> None:
        terminate.end_all(self._token, self._watch.root_pid, grace_seconds=grace_seconds, known=frozenset(self._known))
        self._is_alone = True

    def _close_now(self) -> None:
        """Runs in a thread, so that nothing in the event loop can interrupt it."""
        try:
            if not self._is_alone:
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
                f"the log of process {self.pid} still waits for its disk",
                remedy="Check the disk that holds the log.",
            )

    def _close_files(self) -> None:
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()
        self._watch.close()


def _discard(process: subprocess.Popen[bytes]) -> None:
    """End a process that has only just begun, and give back what it holds here."""
    process.kill()
    with process:  # closes its pipes and reaps it
        pass


def _nothing() -> None:
    """Stand in for a step that a child without input does not have."""


def _ending(work: Callable[[], T]) -> asyncio.Future[T]:
    return in_thread(work, name="ending a child")

"""A command whose two outputs are one stream, read in the event loop.

Lighter than a Child, for commands that come one after the other by the thousand: no thread, and no search for
descendants when it ends by itself. What it leaves running stays until it is ended by the token it carries.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Collection

from bridle.ground.children.exit_watch import ExitWatch
from bridle.ground.children.output_pump import READ_BYTES, Tap
from bridle.ground.children.spawn import Spawn, launch
from bridle.ground.descendants import terminate
from bridle.ground.threads import in_thread, undisturbed

# A command that prints without pause must not keep the event loop from everything else.
READS_IN_A_ROW = 4

# What a pipe can hold on the systems we know, unless a program enlarges it: all that an ended command can have left.
PIPE_BYTES = 1024 * 1024

# A program that chatters on after its command is over is listened to this often, so that it cannot keep us busy.
LISTEN_SECONDS = 0.02

# Where the system cannot tell us about the command's end, we look this often.
LOOK_SECONDS = 0.02

# A killed command is gone at once unless the kernel holds it, say for a network disk that does not answer.
KILL_SECONDS = 5.0


def start(spawn: Spawn, *, on_chunk: Tap, keep: Collection[int] = ()) -> Console:
    """Start a command in the running event loop; ProcessError says why it could not be.

    The tap gets every chunk of output, in the loop. The caller ends with `let_go` or `end`.
    """
    process = launch(spawn, merge=True, keep=keep)
    try:
        return Console(spawn.token, process, on_chunk)
    except BaseException:  # no descriptor left, or no memory: there is nobody yet to end it
        process.kill()
        with process:  # closes its pipe and reaps it
            pass
        raise


class Console:
    """A command under way; made by `start`."""

    def __init__(self, token: str, process: subprocess.Popen[bytes], on_chunk: Tap) -> None:
        assert process.stdout is not None  # noqa: S101  # for the type checker: launch asks for it
        self.pid = process.pid
        self.tap_error: Exception | None = None
        self._token = token
        self._pipe = process.stdout
        self._on_chunk: Tap | None = on_chunk
        self._loop = asyncio.get_running_loop()
        self._watch = ExitWatch(process)
        self._exited = asyncio.Event()
        self._silent = asyncio.Event()
        self._ending: asyncio.Future[None] | None = None
        os.set_blocking(self._pipe.fileno(), False)
        self._loop.add_reader(self._pipe.fileno(), self._read)
        if self._watch.fd is not None:
            self._loop.add_reader(self._watch.fd, self._look)
        else:
            self._loop.call_later(LOOK_SECONDS, self._look)

    @property
    def exit_code(self) -> int | None:
        """The exit code, or minus the number of the signal that ended it; None while it lives."""
        return self._watch.exit_code

    @property
    def is_silent(self) -> bool:
        """Whether nothing can print to it any more."""
        return self._pipe.closed

    async def wait(self, timeout_seconds: float | None) -> int | None:
        """Wait for the end of the command itself and return its exit code; None when the time is over."""
        try:
            async with asyncio.timeout(timeout_seconds):
                await self._exited.wait()
        except TimeoutError:
            return None
        return self.exit_code

    async def settle(self, *, limit_seconds: float) -> None:
        """Take the last output of a command that has ended; what it left running does not hold us for longer."""
        try:
            async with asyncio.timeout(limit_seconds):
                await self._silent.wait()
        except TimeoutError:
            self._read(limit_bytes=PIPE_BYTES)

    def let_go(self) -> bool:
        """Reap a command that has ended; True when nothing holds its output any more.

        Otherwise what still comes is read and dropped, so that whatever prints it is neither held up nor broken.
        """
        self._on_chunk = None
        self._watch.reap(limit_seconds=0)
        self._forget_watch()
        self._listen_again()
        return self.is_silent

    async def end(self, *, grace_seconds: float) -> None:
        """End the command with everything it has started; also when the caller is cancelled meanwhile."""
        if self._ending is None:
            self._ending = in_thread(lambda: self._end_now(grace_seconds), name="ending a command")
        try:
            await undisturbed(self._ending)
        finally:
            if self.exit_code is not None:
                self._exited.set()
            self._read(limit_bytes=PIPE_BYTES)
            self.close()

    def close(self) -> None:
        """Give the descriptors back; whoever still prints gets an error for it."""
        self._on_chunk = None
        self._forget_watch()
        self._close_pipe()

    def _end_now(self, grace_seconds: float) -> None:
        try:
            terminate.end_all(self._token, self._watch.root_pid, grace_seconds=grace_seconds)
        finally:
            self._watch.reap(limit_seconds=KILL_SECONDS)

    def _read(self, *, limit_bytes: int = READ_BYTES * READS_IN_A_ROW) -> None:
        got = 0
        while got < limit_bytes and not self._pipe.closed:
            try:
                chunk = os.read(self._pipe.fileno(), READ_BYTES)
            except BlockingIOError:
                return
            if not chunk:
                self._close_pipe()
            got += len(chunk)
            self._give(chunk)

    def _listen(self) -> None:
        """Read what nobody wants any more, a little at a time."""
        self._loop.remove_reader(self._pipe.fileno())
        self._read()
        if not self._pipe.closed:
            self._loop.call_later(LISTEN_SECONDS, self._listen_again)

    def _listen_again(self) -> None:
        if not self._pipe.closed:
            self._loop.add_reader(self._pipe.fileno(), self._listen)

    def _give(self, chunk: bytes) -> None:
        if not chunk or self._on_chunk is None or self.tap_error is not None:
            return
        try:
            self._on_chunk(chunk)
        except Exception as error:  # noqa: BLE001  # it is told to whoever waits; the output must go on flowing
            self.tap_error = error

    def _look(self) -> None:
        if self._watch.look() is not None:
            self._exited.set()
            if self._watch.fd is not None:
                self._loop.remove_reader(self._watch.fd)
        elif self._watch.fd is None and self._ending is None:
            self._loop.call_later(LOOK_SECONDS, self._look)

    def _forget_watch(self) -> None:
        if self._watch.fd is not None:
            self._loop.remove_reader(self._watch.fd)
            self._watch.close()

    def _close_pipe(self) -> None:
        if not self._pipe.closed:
            self._loop.remove_reader(self._pipe.fileno())
            self._pipe.close()
        self._silent.set()

"""A command whose stdout and stderr are one stream, read in the event loop.

Cheaper than a Child, for thousands of commands one after the other: without a thread, and without a search for
descendants when it exits by itself. Background processes that it leaves run until the caller ends them.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Collection

from bridle.ground.children.output_pump import READ_BYTES, Tap
from bridle.ground.children.spawn import Launched, Spawn, launch
from bridle.ground.children.supervised_watch import SupervisedWatch
from bridle.ground.descendants import terminate
from bridle.ground.threads import in_thread, wait_uncancelled

# A command that prints without pause must not block the event loop.
READS_IN_A_ROW = 4

# The size of a pipe, unless a program enlarges it: all that an ended command can have left in it.
PIPE_BYTES = 1024 * 1024

# Output of background processes after the command has ended is read at this interval.
DROP_SECONDS = 0.02

# The interval at which the command is polled where the system has no pidfd.
POLL_SECONDS = 0.02

# A killed command ends at once unless the kernel holds it, for instance on a network disk that does not respond.
KILL_SECONDS = 5.0


def start(spawn: Spawn, *, on_chunk: Tap, keep: Collection[int] = (), supervised: bool = True) -> LightChild:
    """Start a command in the running event loop; raise ProcessError where it cannot be started.

    The callback receives each chunk of output, in the loop. The caller must call `release` or `end`.
    """
    launched = launch(spawn, merge=True, keep=keep, supervised=supervised)
    try:
        return LightChild(spawn.token, launched, on_chunk)
    except BaseException:  # out of descriptors or memory
        launched.discard()
        raise


class LightChild:
    """A running command; see `start`."""

    def __init__(self, token: str, launched: Launched, on_chunk: Tap) -> None:
        self.pid = launched.pid
        self.tap_error: Exception | None = None
        self._token = token
        self._pipe = launched.stdout
        self._on_chunk: Tap | None = on_chunk
        self._loop = asyncio.get_running_loop()
        self._watch = launched.watch
        self._exited = asyncio.Event()
        self._output_closed = asyncio.Event()
        self._ending: asyncio.Future[None] | None = None
        os.set_blocking(self._pipe.fileno(), False)
        self._loop.add_reader(self._pipe.fileno(), self._read)
        if self._watch.fd is not None:
            self._loop.add_reader(self._watch.fd, self._poll)
        else:
            self._loop.call_later(POLL_SECONDS, self._poll)

    @property
    def exit_code(self) -> int | None:
        """The exit code, or minus the number of the signal that ended it; None while it lives."""
        return self._watch.exit_code

    @property
    def is_over(self) -> bool:
        """Whether nothing that it started runs; without a supervisor, whether its output is closed."""
        if isinstance(self._watch, SupervisedWatch):
            return self._watch.reap(limit_seconds=0)
        return self._pipe.closed

    async def wait(self, timeout_seconds: float | None) -> int | None:
        """Wait for the command itself and return its exit code; None at the timeout."""
        try:
            async with asyncio.timeout(timeout_seconds):
                await self._exited.wait()
        except TimeoutError:
            return None
        return self.exit_code

    async def drain(self, *, limit_seconds: float) -> None:
        """Read the rest of the output; at the limit, what is in the pipe."""
        try:
            async with asyncio.timeout(limit_seconds):
                await self._output_closed.wait()
        except TimeoutError:
            self._read(limit_bytes=PIPE_BYTES)

    def release(self) -> bool:
        """Reap a command that has ended; return whether it is over.

        Otherwise further output is read and dropped, so that background processes neither block nor fail.
        """
        self._on_chunk = None
        is_reaped = self._watch.reap(limit_seconds=0)
        if is_reaped or not isinstance(self._watch, SupervisedWatch):
            self._close_watch()
        self._add_dropper()
        return self.is_over

    async def end(self, *, grace_seconds: float) -> None:
        """End the command with all its descendants; not interrupted by a cancellation."""
        if self._ending is None:
            self._ending = in_thread(lambda: self._end_now(grace_seconds), name="ending a command")
        try:
            await wait_uncancelled(self._ending)
        finally:
            if self.exit_code is not None:
                self._exited.set()
            self._read(limit_bytes=PIPE_BYTES)
            self.close()

    def close(self) -> None:
        """Close the descriptors; processes that still print get an error."""
        self._on_chunk = None
        self._close_watch()
        self._close_pipe()

    def _end_now(self, grace_seconds: float) -> None:
        watch = self._watch
        try:
            if isinstance(watch, SupervisedWatch):
                watch.end_descendants(self._token, grace_seconds)
            else:
                terminate.end_all(self._token, watch.root_pid, grace_seconds=grace_seconds)
        finally:
            watch.reap(limit_seconds=KILL_SECONDS)

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
            self._pass_on(chunk)

    def _drop_output(self) -> None:
        """Read and drop output, a little at a time."""
        self._loop.remove_reader(self._pipe.fileno())
        self._read()
        if not self._pipe.closed:
            self._loop.call_later(DROP_SECONDS, self._add_dropper)

    def _add_dropper(self) -> None:
        if not self._pipe.closed:
            self._loop.add_reader(self._pipe.fileno(), self._drop_output)

    def _pass_on(self, chunk: bytes) -> None:
        if not chunk or self._on_chunk is None or self.tap_error is not None:
            return
        try:
            self._on_chunk(chunk)
        except Exception as error:  # noqa: BLE001  # reported by tap_error; the output must be read on
            self.tap_error = error

    def _poll(self) -> None:
        if self._watch.poll() is not None:
            self._exited.set()
            if self._watch.fd is not None:
                self._loop.remove_reader(self._watch.fd)
        elif self._watch.fd is None and self._ending is None:
            self._loop.call_later(POLL_SECONDS, self._poll)

    def _close_watch(self) -> None:
        if self._watch.fd is not None:
            self._loop.remove_reader(self._watch.fd)
            self._watch.close()

    def _close_pipe(self) -> None:
        if not self._pipe.closed:
            self._loop.remove_reader(self._pipe.fileno())
            self._pipe.close()
        self._output_closed.set()

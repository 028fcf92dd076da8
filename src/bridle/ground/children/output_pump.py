"""The thread that reads a child's output: to the callbacks first, then, as room allows, to the reader.

It never stops reading standard error, and pauses standard output only while the reader is behind. A process that keeps
a pipe open after the child has ended does not keep the thread.
"""

from __future__ import annotations

import array
import fcntl
import os
import select
import sys
import termios
import threading
import time
from collections.abc import Callable

from bridle.ground.children.exit_watch import ExitWatch
from bridle.ground.children.handoff import Handoff
from bridle.ground.children.supervised_watch import SupervisedWatch
from bridle.ground.children.wakeup import Wakeup

Tap = Callable[[bytes], None]

# So that much output on stdout does not delay stderr for long.
READS_IN_A_ROW = 16

# Measured: larger reads cost more, because memory above 128 KiB is mapped again for each of them.
READ_BYTES = 64 * 1024

# With the kernel's default of 64 KiB a child that prints much waits for each read. 256 KiB for each of a hundred agents
# is below the 64 MiB that Linux grants a user; above that every new pipe of the user would have two pages.
PIPE_BYTES = 256 * 1024

# The limit of bytes that wait for the reader: enough to keep a parser busy, little for 100 agents.
HANDOFF_LIMIT_BYTES = 1024 * 1024

# Shown when an agent fails; several hundred lines.
STDERR_TAIL_BYTES = 64 * 1024

# After the child's exit its own bytes are in the pipe. This is for a helper process that exits a little later.
SILENCE_SECONDS = 2.0

# A background server may print to a pipe that it inherited without end: that is no longer the agent's output.
CHATTER_SECONDS = 5.0

# A child that writes line by line would wake us for each line. While it prints that much, lines are collected for this
# long: the delay is not visible, and it saves most of the work.
COLLECT_SECONDS = 0.002

# Only short reads are worth collecting.
COLLECT_BELOW_BYTES = READ_BYTES // 4

# The interval at which the child is polled where the system has no pidfd.
POLL_SECONDS = 0.05


class Pump:
    """Reads a child's two output pipes until both are closed and the child has exited."""

    def __init__(
        self,
        *,
        stdout_fd: int,
        stderr_fd: int,
        watch: ExitWatch | SupervisedWatch,
        on_chunk: Tap | None,
        on_stderr: Tap | None,
        on_exit: Callable[[], None],
    ) -> None:
        """`on_exit` is called in the thread, once, when the child has exited."""
        self._wakeup = Wakeup()
        self.handoff = Handoff(limit_bytes=HANDOFF_LIMIT_BYTES, on_room=self._wakeup.wake)
        self.tap_error: Exception | None = None
        self._watch = watch
        self._on_exit = on_exit
        self._stdout = _Stream(stdout_fd, on_chunk)
        self._stderr = _Stream(stderr_fd, on_stderr)
        self._tail = bytearray()
        self._exit_at: float | None = None
        self._quiet_since = 0.0
        self._last_read_at = 0.0
        self._must_finish = False
        self._is_finishing = False
        self._must_leave = False
        self._thread = threading.Thread(target=self._run, name=f"pump of {stdout_fd}", daemon=True)

    @property
    def stderr_tail(self) -> bytes:
        """The last bytes of standard error."""
        return bytes(self._tail[-STDERR_TAIL_BYTES:])

    def start(self) -> None:
        self._thread.start()

    def finish(self) -> None:
        """Read what is in the pipes now and take that for the end: the child and its descendants have ended."""
        self._must_finish = True
        self._wakeup.wake()

    def leave(self, *, limit_seconds: float) -> bool:
        """End the thread; what is in the pipes still reaches the callbacks. Return False where a callback blocks it."""
        self.handoff.abandon()
        self._must_leave = True
        self.finish()
        if self._thread.ident is not None:
            self._thread.join(limit_seconds)
        if self._thread.is_alive():
            return False
        self._wakeup.close()
        return True

    def _run(self) -> None:
        try:
            while not self._is_done():
                self._step()
        finally:
            self.handoff.end()
            if self._exit_at is None:  # so that no one waits for the exit forever
                self._check_exit()

    def _is_done(self) -> bool:
        is_read = self._stdout.is_ended and self._stderr.is_ended
        return is_read and (self._exit_at is not None or self._must_leave)

    def _step(self) -> None:
        ready = self._wait()
        if self._wakeup.fileno() in ready:
            self._wakeup.clear()
        if self._exit_at is None and (self._watch.fd is None or self._watch.fd in ready):
            self._check_exit()
        if self._must_finish and not self._is_finishing:
            self._is_finishing = True
            self._count_down()
        got = self._read_stderr(ready) + self._read_stdout(ready)
        now = time.monotonic()
        if got or self._is_paused():
            self._quiet_since = now
        self._cut(now)
        if 0 < got < COLLECT_BELOW_BYTES and now - self._last_read_at < COLLECT_SECONDS:
            time.sleep(COLLECT_SECONDS)
        self._last_read_at = now

    def _wait(self) -> set[int]:
        poll = select.poll()
        poll.register(self._wakeup.fileno(), select.POLLIN)
        if self._exit_at is None and self._watch.fd is not None:
            poll.register(self._watch.fd, select.POLLIN)
        if not self._stderr.is_ended:
            poll.register(self._stderr.fd, select.POLLIN)
        if not self._stdout.is_ended and not self._is_paused():
            poll.register(self._stdout.fd, select.POLLIN)
        return {fd for fd, _ in poll.poll(self._timeout_milliseconds())}

    def _timeout_milliseconds(self) -> float | None:
        if self._must_finish and self._has_unread():
            return 0
        if self._exit_at is not None:
            return SILENCE_SECONDS * 1000 / 4
        return None if self._watch.fd is not None else POLL_SECONDS * 1000

    def _has_unread(self) -> bool:
        return not self._stderr.is_ended or not (self._stdout.is_ended or self._is_paused())

    def _is_paused(self) -> bool:
        return self.handoff.is_full and not self._stdout.is_ended

    def _check_exit(self) -> None:
        if self._watch.poll() is None:
            return
        self._exit_at = self._quiet_since = time.monotonic()
        self._count_down()
        self._on_exit()

    def _count_down(self) -> None:
        self._stdout.count_down()
        self._stderr.count_down()

    def _read_stdout(self, ready: set[int]) -> int:
        stream = self._stdout
        got = 0
        if not (stream.fd in ready or self._must_finish):
            return 0
        chunks: list[bytes] = []
        for _ in range(READS_IN_A_ROW):
            if stream.is_ended or self._is_paused():
                break
            chunk = stream.read()
            if chunk:
                got += len(chunk)
                self._pass_on(stream, chunk)
                chunks.append(chunk)
            if len(chunk) < READ_BYTES or got >= PIPE_BYTES:
                break
        # Handed over at once: each wakeup of the reader costs as much as decoding 10 KB.
        self.handoff.put(chunks)
        if stream.is_ended:
            self.handoff.end()
        return got

    def _read_stderr(self, ready: set[int]) -> int:
        stream = self._stderr
        if stream.is_ended or not (stream.fd in ready or self._must_finish):
            return 0
        chunk = stream.read()
        if chunk:
            self._pass_on(stream, chunk)
            self._tail += chunk
            if len(self._tail) > 4 * STDERR_TAIL_BYTES:
                del self._tail[:-STDERR_TAIL_BYTES]
        return len(chunk)

    def _pass_on(self, stream: _Stream, chunk: bytes) -> None:
        if stream.tap is None:
            return
        try:
            stream.tap(chunk)
        except Exception as error:  # noqa: BLE001  # the caller's callback; its error is raised by the caller's read
            # A log with a gap would be worse than one that ends: the callback gets nothing more.
            stream.tap = None
            self.tap_error = self.tap_error or error
            self.handoff.fail(error)

    def _cut(self, now: float) -> None:
        """End the streams that only background processes still hold open."""
        has_exited = self._exit_at is not None
        is_silent = has_exited and now - self._quiet_since >= SILENCE_SECONDS
        is_late = self._exit_at is not None and now - self._exit_at >= CHATTER_SECONDS
        for stream in (self._stdout, self._stderr):
            if stream.owed_bytes is None or (stream is self._stdout and self._is_paused()):
                continue
            is_settled = stream.owed_bytes <= 0
            if is_silent or (is_settled and (is_late or self._must_finish)):
                stream.is_ended = True
        if self._stdout.is_ended:
            self.handoff.end()


class _Stream:
    """One pipe of the child."""

    def __init__(self, fd: int, tap: Tap | None) -> None:
        self.fd = fd
        self.tap = tap
        self.is_ended = False
        self.owed_bytes: int | None = None
        """The bytes that were in the pipe at the child's exit and are not read yet; None before."""
        os.set_blocking(fd, False)
        _widen(fd)

    def read(self) -> bytes:
        """Read once; return b"" where there is nothing to read."""
        try:
            chunk = os.read(self.fd, READ_BYTES)
        except BlockingIOError:
            if self.owed_bytes is not None:
                self.owed_bytes = 0
            return b""
        self.is_ended = not chunk
        if self.owed_bytes is not None:
            self.owed_bytes -= len(chunk)
        return chunk

    def count_down(self) -> None:
        """Note how much is in the pipe now: the rest is not the child's."""
        waiting = array.array("i", [0])
        fcntl.ioctl(self.fd, termios.FIONREAD, waiting)
        self.owed_bytes = waiting[0]


def _widen(fd: int) -> None:
    if sys.platform != "linux":
        return
    try:
        fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    except OSError:
        pass  # the user's limit for pipes is reached: the default size is only slower

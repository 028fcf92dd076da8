"""The thread that empties a child's output: to the taps first, then, as room allows, to the reader.

It never stops reading standard error, and standard output only while the reader is behind. A child's child
that keeps a pipe open after the child has ended does not keep the thread.
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
from bridle.ground.children.wakeup import Wakeup

Tap = Callable[[bytes], None]

# A loud standard output must not keep us from standard error for long.
READS_IN_A_ROW = 16

# Measured: larger reads cost more, because memory above 128 KiB is mapped anew for each of them.
READ_BYTES = 64 * 1024

# The kernel's default of 64 KiB makes a loud child wait for each read. 256 KiB for each of a hundred agents stays
# below the 64 MiB that Linux grants a user; above that every new pipe of the user would shrink to two pages.
PIPE_BYTES = 256 * 1024

# What waits for the reader, at most, and one full pipe more: enough to keep a parser busy, little for 100 agents.
HANDOFF_LIMIT_BYTES = 1024 * 1024

# The end of standard error is what people are shown when an agent fails; this is several hundred lines.
STDERR_TAIL_BYTES = 64 * 1024

# After the child's end its own bytes are already in the pipe. This is for a helper that outlives it a little.
SILENCE_SECONDS = 2.0

# A background server may chatter for ever on a pipe it inherited: that is not the agent's output any more.
CHATTER_SECONDS = 5.0

# A child that writes line by line would wake us for each line. While it is that loud we let lines collect for
# this long: nobody can see the delay, and it saves most of the work.
COLLECT_SECONDS = 0.002

# Only short reads are worth collecting.
COLLECT_BELOW_BYTES = READ_BYTES // 4

# Where the system cannot tell us about the child's end, we look this often.
LOOK_SECONDS = 0.05


class Pump:
    """Reads a child's two output pipes until both are at their end and the child too."""

    def __init__(
        self,
        *,
        stdout_fd: int,
        stderr_fd: int,
        watch: ExitWatch,
        on_chunk: Tap | None,
        on_stderr: Tap | None,
        on_exit: Callable[[], None],
    ) -> None:
        """`on_exit` is called in the thread, once, when the child has ended."""
        self._bell = Wakeup()
        self.handoff = Handoff(limit_bytes=HANDOFF_LIMIT_BYTES, on_room=self._bell.ring)
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
        """Begin to read."""
        self._thread.start()

    def finish(self) -> None:
        """Read what is in the pipes now and take that for the end: all writers that matter are gone."""
        self._must_finish = True
        self._bell.ring()

    def leave(self, *, limit_seconds: float) -> bool:
        """End the thread; what is in the pipes still reaches the taps. False when a tap blocks it."""
        self.handoff.abandon()
        self._must_leave = True
        self.finish()
        if self._thread.ident is not None:
            self._thread.join(limit_seconds)
        if self._thread.is_alive():
            return False
        self._bell.close()
        return True

    def _run(self) -> None:
        try:
            while not self._is_done():
                self._turn()
        finally:
            self.handoff.end()
            if self._exit_at is None:  # whoever still waits for the exit must not wait for ever
                self._look_for_exit()

    def _is_done(self) -> bool:
        is_read = self._stdout.is_ended and self._stderr.is_ended
        return is_read and (self._exit_at is not None or self._must_leave)

    def _turn(self) -> None:
        ready = self._wait()
        if self._bell.fileno() in ready:
            self._bell.clear()
        if self._exit_at is None and (self._watch.fd is None or self._watch.fd in ready):
            self._look_for_exit()
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
        poll.register(self._bell.fileno(), select.POLLIN)
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
        return None if self._watch.fd is not None else LOOK_SECONDS * 1000

    def _has_unread(self) -> bool:
        return not self._stderr.is_ended or not (self._stdout.is_ended or self._is_paused())

    def _is_paused(self) -> bool:
        return self.handoff.is_full and not self._stdout.is_ended

    def _look_for_exit(self) -> None:
        if self._watch.look() is None:
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
                self._give(stream, chunk)
                chunks.append(chunk)
            if len(chunk) < READ_BYTES or got >= PIPE_BYTES:
                break
        # What the pipe held is handed over at once: each time that the reader wakes costs as much as decoding 10 KB.
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
            self._give(stream, chunk)
            self._tail += chunk
            if len(self._tail) > 4 * STDERR_TAIL_BYTES:
                del self._tail[:-STDERR_TAIL_BYTES]
        return len(chunk)

    def _give(self, stream: _Stream, chunk: bytes) -> None:
        if stream.tap is None:
            return
        try:
            stream.tap(chunk)
        except Exception as error:  # noqa: BLE001  # the tap is the caller's; its error goes to the caller's read
            # A log with a hole in it would be worse than one that ends: the tap gets nothing more.
            stream.tap = None
            self.tap_error = self.tap_error or error
            self.handoff.fail(error)

    def _cut(self, now: float) -> None:
        """Stop listening to what only outsiders still hold open."""
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
        """What was in the pipe when the child ended and has not been read yet; None before."""
        os.set_blocking(fd, False)
        _widen(fd)

    def read(self) -> bytes:
        """Read once; empty when there is nothing now, or nothing more."""
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
        """From here on only what is in the pipe now is owed to the reader."""
        waiting = array.array("i", [0])
        fcntl.ioctl(self.fd, termios.FIONREAD, waiting)
        self.owed_bytes = waiting[0]


def _widen(fd: int) -> None:
    if sys.platform != "linux":
        return
    try:
        fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    except OSError:
        pass  # the user has no room for larger pipes left: the usual size is only slower

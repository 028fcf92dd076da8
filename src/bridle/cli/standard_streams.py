"""The standard streams of the installed programs: closed ones are replaced, and stderr may be lost at any time."""

from __future__ import annotations

import io
import os
import sys

TYPE_CHECKING = False  # importing typing takes longer than a light command runs
if TYPE_CHECKING:
    from typing import TextIO

# A reader that shares a non-blocking pipe or terminal with us gets this long to read; then the text is dropped.
WAIT_MILLISECONDS = 1000


def prepare_streams() -> None:
    """Replace closed streams, and make stderr one that cannot fail."""
    if None in (sys.stdin, sys.stdout, sys.stderr):
        replace_closed_streams()
    sys.stderr = io.TextIOWrapper(
        LossyOutput(sys.stderr),
        encoding=sys.stderr.encoding,
        errors="backslashreplace",
        line_buffering=True,
        write_through=True,
    )


def replace_closed_streams() -> None:
    """Replace streams that the caller closed, so that no file of ours gets their descriptors.

    Reading stdin and writing stdout then fail instead of succeeding silently; stderr is discarded.
    """
    sys.stdin = sys.stdin or os.fdopen(os.open(os.devnull, os.O_WRONLY))
    sys.stdout = sys.stdout or os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")
    sys.stderr = sys.stderr or os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")


class LossyOutput(io.RawIOBase):
    """Messages for users: what cannot be written is dropped.

    The terminal may be closed, the reader of a pipe gone, the disk of a log full. None of that may end a run, and what
    follows is written again as soon as that is possible.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream  # kept, because its end would close the descriptor
        self._fd = stream.fileno()

    def fileno(self) -> int:
        return self._fd

    def isatty(self) -> bool:
        return os.isatty(self._fd)

    def writable(self) -> bool:
        return True

    def write(self, data: object, /) -> int:
        """Write all of it, or drop the rest; never raise."""
        rest = memoryview(data).cast("B")  # type: ignore[arg-type]  # bytes, by the interface
        size = len(rest)
        try:
            while rest:
                rest = rest[self._write_some(rest) :]
        except OSError:
            pass
        return size

    def _write_some(self, data: memoryview) -> int:
        try:
            return os.write(self._fd, data)
        except BlockingIOError:
            import select

            poll = select.poll()
            poll.register(self._fd, select.POLLOUT)
            poll.poll(WAIT_MILLISECONDS)
            return os.write(self._fd, data)

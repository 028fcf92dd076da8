"""An agent's log as chunks of bytes with their arrival times, from a file, a growing file or a stream."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

from bridle.ground import disk

CHUNK_BYTES = 256 * 1024
# Short enough that a reader notices no delay, long enough that following a log costs next to nothing.
POLL_SECONDS = 0.2
# After its result an agent may wait about five seconds for background work and print another result,
# and Bridle ends it ten seconds after the result. A log that is silent for longer is complete.
QUIET_SECONDS = 15.0

Chunk = tuple[bytes, float | None]


class Log:
    """A log file with its `.times` file; `is_ended` returns whether the agent that writes the log has ended.

    Without `follow_links` the path must be that of a regular file: an agent can put anything there since it was listed.
    """

    def __init__(self, path: Path, is_ended: Callable[[], bool] = lambda: False, *, follow_links: bool = True) -> None:
        self._file = path.open("rb") if follow_links else open_log(path)
        self._is_ended = is_ended
        self._times = _Times.open_for(path)
        self._position = 0

    def __enter__(self) -> Log:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        if self._times is not None:
            self._times.close()

    def chunks(self, *, now: float | None = None, only_timed: bool = False) -> Iterator[Chunk]:
        """Yield the unread chunks; `now` is their time where the `.times` file has none.

        `only_timed`: leave what has no time yet to the next call. The writer adds the time after the bytes.
        """
        while True:
            mark = self._times.after(self._position) if self._times is not None else None
            if only_timed and mark is None:
                return
            size = CHUNK_BYTES if mark is None else min(CHUNK_BYTES, mark[0] - self._position)
            data = self._file.read(size)
            if not data:
                return
            self._position += len(data)
            yield data, mark[1] if mark is not None else now

    def wait(self, *, result_seen: bool) -> bool:
        """Wait until there is more to read; return whether there is."""
        quiet_since = time.monotonic()
        while True:
            is_ended = self._is_ended()  # asked first: what was written before the end is read
            if self._has_more():
                return True
            if is_ended or (result_seen and time.monotonic() - quiet_since > QUIET_SECONDS):
                return False
            time.sleep(POLL_SECONDS)

    @property
    def has_times(self) -> bool:
        return self._times is not None

    def _has_more(self) -> bool:
        return bool(self._file.peek(1))


def open_log(path: Path) -> BufferedReader:
    """Open a log that is a regular file; raise OSError for a link, which could show any file, or a pipe."""
    return os.fdopen(disk.open_regular(path, follow_links=False), "rb")


def stream_chunks(stream: BinaryIO) -> Iterator[Chunk]:
    """Yield chunks of a stream as they arrive, each with the time at which it was read."""
    read = getattr(stream, "read1", stream.read)
    while data := read(CHUNK_BYTES):
        yield data, time.monotonic()


class _Times:
    """The `.times` file of a log: a line `offset milliseconds` for each read."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._tail = b""
        self._mark: tuple[int, float] | None = None

    @classmethod
    def open_for(cls, path: Path) -> _Times | None:
        """Open the `.times` file of a log, or return None."""
        times = path.with_suffix(".times")
        try:
            return cls(os.fdopen(disk.open_regular(times), "rb"))
        except OSError:
            return None

    def close(self) -> None:
        self._file.close()

    def after(self, position: int) -> tuple[int, float] | None:
        """Return the end offset and time of the first read beyond a position."""
        while self._mark is None or self._mark[0] <= position:
            self._tail += self._file.readline()
            if not self._tail.endswith(b"\n"):
                return None
            self._mark, self._tail = _parse_mark(self._tail) or self._mark, b""
        return self._mark


def _parse_mark(line: bytes) -> tuple[int, float] | None:
    try:
        offset, milliseconds = line.split()
        return int(offset), float(milliseconds) / 1000
    except ValueError:
        return None

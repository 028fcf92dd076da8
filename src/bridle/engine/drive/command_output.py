"""What a command prints: all of it in a private file, as it is; its two ends at hand, without secrets."""

from __future__ import annotations

import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from bridle.ground import disk
from bridle.wire.mask import Mask

# What of each end of the output is part of a value.
SHOWN_CHARACTERS = 32 * 1024
# What of it is kept in the file; a command that prints more is not read for it.
KEPT_BYTES = 256 * 1024 * 1024


class Printed:
    """One output of a command, taken in as it comes."""

    def __init__(self, path: Path, mask: Mask) -> None:
        self.path = path
        self._mask = mask
        # Beyond what is shown, as far as a secret can reach: one that is cut in two is masked all the same.
        self._end_bytes = SHOWN_CHARACTERS + 4 * mask.reach
        self._fd = -1
        self._sum = sha256()
        self._size = 0
        self._head, self._tail = bytearray(), bytearray()

    def __enter__(self) -> Printed:
        with suppress(OSError):  # of an earlier attempt; whatever else is in the way is told by the next line
            self.path.unlink()
        self._fd = disk.create_exclusive(self.path)
        return self

    def __exit__(self, *_: object) -> None:
        try:
            disk.sync(self._fd)  # the journal will say that it is there
        finally:
            os.close(self._fd)

    def add(self, chunk: bytes) -> None:
        """Take in what was printed; called from the thread that reads."""
        room = max(0, KEPT_BYTES - self._size)
        if room:
            disk.write_all(self._fd, chunk[:room])
            self._sum.update(chunk[:room])
        self._size += len(chunk)
        missing = max(0, self._end_bytes - len(self._head))
        self._head += chunk[:missing]
        self._tail = (self._tail + chunk[missing:])[-self._end_bytes :]

    @property
    def digest(self) -> str:
        """The SHA-256 of the file."""
        return self._sum.hexdigest()

    @property
    def text(self) -> str:
        """All of it where it is short; else its two ends."""
        if self._size <= len(self._head) + len(self._tail):
            whole = self._masked(self._head + self._tail)
            if len(whole) <= 2 * SHOWN_CHARACTERS:
                return whole
            head, tail = whole[:SHOWN_CHARACTERS], whole[-SHOWN_CHARACTERS:]
        else:
            head, tail = self._masked(self._head)[:SHOWN_CHARACTERS], self._masked(self._tail)[-SHOWN_CHARACTERS:]
        return f"{head}\n… the middle of {self._size} bytes is left out …\n{tail}"

    def _masked(self, data: bytearray) -> str:
        return self._mask.apply(data.decode("utf-8", "replace"))

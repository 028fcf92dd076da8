"""Stores the output of a command: in memory while it is short, then in a file of bounded size."""

from __future__ import annotations

import codecs
import os
from pathlib import Path

from bridle.errors import DiskError
from bridle.ground import disk

# How much of one command's output is stored. A useful log is smaller, and twenty such commands in a session still fit
# on any disk.
KEPT_LIMIT_BYTES = 64 * 1024 * 1024


class OutputSpool:
    """The output of one command, counted completely and stored up to a limit."""

    def __init__(
        self, path: Path, *, hold_characters: int, tail_characters: int, keep_bytes: int = KEPT_LIMIT_BYTES
    ) -> None:
        """Hold up to `hold_characters` in memory and write more to `path`; head and tail stay in memory."""
        self.path = path
        self.size_bytes = 0
        self.characters = 0
        self.fault: str | None = None
        """Why the file could not be written; None if it could."""
        self._keep_bytes = keep_bytes
        self._hold_characters = hold_characters
        self._tail_characters = tail_characters
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._raw = bytearray()
        self._texts: list[str] = []
        self._head = ""
        self._tail = ""
        self._fd: int | None = None
        self._is_held = True

    @property
    def is_held(self) -> bool:
        """Whether the output is in memory only."""
        return self._is_held

    @property
    def kept_bytes(self) -> int:
        """How many bytes of it are in the file."""
        return min(self.size_bytes, self._keep_bytes)

    def add(self, chunk: bytes) -> None:
        """Add output; never raises."""
        before, self.size_bytes = self.size_bytes, self.size_bytes + len(chunk)
        if self._is_held:
            self._raw += chunk
        else:
            self._write(chunk[: max(self._keep_bytes - before, 0)])
        self._read(self._decoder.decode(chunk))

    def spill(self) -> None:
        """Write the output so far to the file, and all that follows."""
        if not self._is_held:
            return
        self._is_held = False
        text = "".join(self._texts)
        self._texts.clear()
        self._head, self._tail = text[: self._hold_characters], text[-self._tail_characters :]
        try:
            disk.make_own_folder(self.path.parent)
            self._fd = disk.create_exclusive(self.path)
        except DiskError as error:
            self.fault = error.message
        self._write(bytes(self._raw[: self._keep_bytes]))
        self._raw.clear()

    def spill_to(self, path: Path) -> None:
        """Like `spill`, but to another file, unless the first one is already in use."""
        if self._is_held:
            self.path = path
            self.spill()

    def head(self) -> str:
        """Return the beginning, up to `hold_characters`; all of it if it is in memory only."""
        return "".join(self._texts) if self._is_held else self._head

    def tail(self) -> str:
        """Return the end, up to `tail_characters`."""
        return self.head()[-self._tail_characters :] if self._is_held else self._tail

    def close(self) -> None:
        """Close the file, with a note about bytes that were not stored."""
        self._read(self._decoder.decode(b"", final=True))  # an incomplete character at the end is replaced
        if self._fd is None:
            return
        lost = self.size_bytes - self.kept_bytes
        if lost:
            self._write(f"\n[{lost} more bytes were printed and not stored]\n".encode("ascii"))
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def discard(self) -> None:
        """Close and remove the file; no result refers to it."""
        self.close()
        if not self._is_held:
            self.path.unlink(missing_ok=True)

    def _read(self, text: str) -> None:
        self.characters += len(text)
        if not self._is_held:
            self._tail = (self._tail + text)[-self._tail_characters :]
            return
        self._texts.append(text)
        if self.characters > self._hold_characters:
            self.spill()

    def _write(self, data: bytes) -> None:
        if self._fd is None or not data:
            return
        try:
            disk.write_all(self._fd, data)
        except DiskError as error:  # the command continues; its result says that the file is incomplete
            self.fault = error.message
            os.close(self._fd)
            self._fd = None

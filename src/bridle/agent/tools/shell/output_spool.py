"""What a command prints: in memory while it is little, in a file above that, never more than a disk can take."""

from __future__ import annotations

import codecs
import os
from pathlib import Path

from bridle.errors import DiskError
from bridle.ground import disk

# What is kept of one command's output. A log that somebody will search is smaller; a gigabyte of zeros is no log,
# and twenty such commands in a session still fit on any disk.
KEPT_LIMIT_BYTES = 64 * 1024 * 1024


class OutputSpool:
    """The output of one command, counted in full and kept in part."""

    def __init__(
        self, path: Path, *, hold_characters: int, tail_characters: int, keep_bytes: int = KEPT_LIMIT_BYTES
    ) -> None:
        """Up to `hold_characters` are held in memory, more go to `path`; beginning and end stay at hand."""
        self.path = path
        self.size_bytes = 0
        self.characters = 0
        self.fault: str | None = None
        """Why the file could not be written, if it could not."""
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
        """Whether all of it is in memory and nothing in the file."""
        return self._is_held

    @property
    def kept_bytes(self) -> int:
        """How many bytes the file has of it."""
        return min(self.size_bytes, self._keep_bytes)

    def add(self, chunk: bytes) -> None:
        """Take the next bytes; never raises."""
        before, self.size_bytes = self.size_bytes, self.size_bytes + len(chunk)
        if self._is_held:
            self._raw += chunk
        else:
            self._write(chunk[: max(self._keep_bytes - before, 0)])
        self._read(self._decoder.decode(chunk))

    def pour(self) -> None:
        """Put what came so far into the file, and from now on everything."""
        if not self._is_held:
            return
        self._is_held = False
        text = "".join(self._texts)
        self._texts.clear()
        self._head, self._tail = text[: self._hold_characters], text[-self._tail_characters :]
        try:
            disk.make_private_folder(self.path.parent)
            self._fd = disk.create_exclusive(self.path)
        except DiskError as error:
            self.fault = error.message
        self._write(bytes(self._raw[: self._keep_bytes]))
        self._raw.clear()

    def pour_into(self, path: Path) -> None:
        """Like `pour`, into another file, unless the first one is in use already."""
        if self._is_held:
            self.path = path
            self.pour()

    def head(self) -> str:
        """The beginning, as long as what is held in memory; all of it if nothing went to the file."""
        return "".join(self._texts) if self._is_held else self._head

    def tail(self) -> str:
        """The end, as long as was asked for."""
        return self.head()[-self._tail_characters :] if self._is_held else self._tail

    def close(self) -> None:
        """Close the file; what was not kept is said at its end."""
        self._read(self._decoder.decode(b"", final=True))  # half a letter at the end is one that cannot be read
        if self._fd is None:
            return
        lost = self.size_bytes - self.kept_bytes
        if lost:
            self._write(f"\n[{lost} more bytes were printed and not kept]\n".encode("ascii"))
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def discard(self) -> None:
        """Close and remove the file: nobody will be told about it."""
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
            self.pour()

    def _write(self, data: bytes) -> None:
        if self._fd is None or not data:
            return
        try:
            disk.write_all(self._fd, data)
        except DiskError as error:  # the command goes on; its answer says that the file is not whole
            self.fault = error.message
            os.close(self._fd)
            self._fd = None

"""The output of a command: all of it in a private log, raw; its two ends as text, without secrets.

The text goes into journals, prompts and terminals. It has no colours and control characters either.
"""

from __future__ import annotations

import os
import re
from hashlib import sha256
from pathlib import Path

from bridle.ground import disk
from bridle.wire.mask import Mask

_CHARACTER_BYTES = 4  # at most, in UTF-8
_SEQUENCES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, cursor
    r"|\x1b[\]PX^_][^\x07\x1b\n]{0,4096}(?:\x07|\x1b\\)"  # titles, links
    r"|\x1b[ -/]*[0-~]"
)
# All but tab and newline: not every one of them can be passed as an argument of a program.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")


class CommandOutput:
    """One output of a command, written to its log and shortened as it arrives."""

    def __init__(
        self, path: Path, fd: int, mask: Mask, *, head_characters: int, tail_characters: int, log_limit_bytes: int
    ) -> None:
        """`fd` is the log, open for writing. Beyond its limit the log has only the end of the output."""
        self.path = path
        self._fd = fd
        self._mask = mask
        self._head_characters, self._tail_characters = head_characters, tail_characters
        self._log_limit_bytes = log_limit_bytes
        self._sum = sha256()
        self._size_bytes = 0
        # Beyond what is shown as far as a secret can reach: one that is cut in two there is still masked.
        self.head_bytes = _CHARACTER_BYTES * (head_characters + 2 * mask.reach)
        self.tail_bytes = _CHARACTER_BYTES * (tail_characters + 2 * mask.reach)
        self._head, self._tail = bytearray(), bytearray()

    def __enter__(self) -> CommandOutput:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def add(self, chunk: bytes) -> None:
        """Append a chunk. Called in the reading thread."""
        room = max(0, self._log_limit_bytes - self._size_bytes)
        if room:
            self._log(chunk[:room])
        self._size_bytes += len(chunk)
        missing = self.head_bytes - len(self._head)
        if missing > 0:
            self._head += chunk[:missing]
            chunk = chunk[missing:]
        self._tail = (self._tail + chunk)[-self.tail_bytes :]

    def close(self) -> None:
        """Make the log durable and close it; a second call does nothing."""
        if self._fd < 0:
            return
        try:
            dropped = self._size_bytes - self._log_limit_bytes
            if dropped > 0:
                tail = bytes(self._tail[-dropped:])
                self._log(f"\n… {dropped - len(tail)} bytes left out …\n".encode() + tail)
            disk.sync(self._fd)
        finally:
            os.close(self._fd)
            self._fd = -1

    @property
    def digest(self) -> str:
        """Return the SHA-256 of the log."""
        return self._sum.hexdigest()

    def beginning(self, limit_bytes: int) -> str:
        """Return the beginning of the log as text; more than `text` has of a long output."""
        data = disk.read_part(self.path, limit_bytes, follow_links=False) or b""
        text = self.to_text(data)
        return text if len(data) < limit_bytes else text[: -self._mask.reach]  # a secret may be cut in two

    @property
    def text(self) -> str:
        """Return all of it if it is short, else its two ends."""
        head_characters, tail_characters = self._head_characters, self._tail_characters
        if self._size_bytes <= len(self._head) + len(self._tail):
            whole = self.to_text(self._head + self._tail)
            if len(whole) <= head_characters + tail_characters:
                return whole
            head, tail = whole[:head_characters], whole[-tail_characters:]
        else:
            # A secret across the edge of these bytes is not recognized: nothing within its reach is shown.
            head = self.to_text(self._head)[: -self._mask.reach][:head_characters]
            tail = self.to_text(self._tail)[self._mask.reach :][-tail_characters:]
        return f"{head}\n… the middle of {self._size_bytes} bytes is left out …\n{tail}"

    def _log(self, data: bytes) -> None:
        disk.write_all(self._fd, data)
        self._sum.update(data)

    def to_text(self, data: bytes | bytearray) -> str:
        """Return bytes of the output as text, without secrets, escape sequences and control characters.

        Mask before the escape sequences are removed and after: they may be inside a secret, or part of one.
        """
        text = self._mask.apply(data.decode("utf-8", "replace"))
        text = _SEQUENCES.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
        return self._mask.apply(_CONTROL.sub("", text))

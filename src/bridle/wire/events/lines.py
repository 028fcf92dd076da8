"""Bytes to lines. Any split of the bytes into chunks yields the same lines.

A line ends at `\\n` only: agents print U+2028, NEL and VT inside JSON strings.
No decoding of any kind belongs here.
"""

from __future__ import annotations

import re

from msgspec import Struct

# The longest line seen from a real agent is a base64 screenshot of about 14 MB. The limit is four times that;
# a longer line is more likely broken than useful, and keeping it would let an agent fill the memory.
LINE_LIMIT_BYTES = 64 * 1024 * 1024

_BOM = b"\xef\xbb\xbf"
_PADDING = b"\r\0"
_needs_more = re.compile(rb"\0|\A\xef\xbb\xbf").search  # than a strip


class Oversize(Struct, frozen=True):
    """A line longer than the limit: its size only."""

    size_bytes: int


class Lines:
    """A splitter of bytes into lines that drops blank lines, byte order marks, NULs and carriage returns."""

    def __init__(self, *, limit_bytes: int = LINE_LIMIT_BYTES) -> None:
        self._limit = limit_bytes
        self._pending: list[bytes] = []
        self._pending_bytes = 0

    def feed(self, chunk: bytes) -> list[bytes | Oversize]:
        """Add bytes; return the lines that they complete."""
        pieces = chunk.split(b"\n")
        tail = pieces.pop()
        lines: list[bytes | Oversize] = []
        if pieces and self._pending_bytes:
            self._append(pieces[0])
            lines.extend(self.end())
            pieces[0] = b""
        if len(chunk) > self._limit:
            lines.extend(line for piece in pieces if (line := self._finish(piece, len(piece))))
        elif _needs_cleaning(chunk):
            stripped = [piece.strip(_PADDING) for piece in pieces]
            lines.extend(filter(None, [clean(piece) if _needs_more(piece) else piece for piece in stripped]))
        else:
            lines.extend(filter(None, pieces))
        self._append(tail)
        return lines

    def end(self) -> list[bytes | Oversize]:
        """Return the unterminated last line, if there is one."""
        line, size = b"".join(self._pending), self._pending_bytes
        self._pending, self._pending_bytes = [], 0
        piece = self._finish(line, size)
        return [piece] if piece else []

    def _append(self, piece: bytes) -> None:
        """Keep a piece of an unfinished line; past the limit only its length."""
        if not piece:
            return
        self._pending_bytes += len(piece)
        if self._pending_bytes > self._limit:
            self._pending.clear()
        else:
            self._pending.append(piece)

    def _finish(self, line: bytes, size_bytes: int) -> bytes | Oversize | None:
        if size_bytes > self._limit:
            return Oversize(size_bytes)
        return clean(line) or None


def clean(line: bytes) -> bytes:
    """Strip a byte order mark, NULs and carriage returns."""
    line = line.strip(_PADDING)
    while line.startswith(_BOM):
        line = line[len(_BOM) :].lstrip(_PADDING)
    return line.replace(b"\0", b"") if b"\0" in line else line


def _needs_cleaning(chunk: bytes) -> bool:
    # A search for one byte runs at memory speed: over the chunk it is cheaper than one strip for each line.
    return b"\r" in chunk or b"\0" in chunk or (b"\xef" in chunk and _BOM in chunk)

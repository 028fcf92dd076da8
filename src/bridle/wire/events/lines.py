"""Bytes in, lines out. Any cut of the bytes gives the same lines.

A line ends at `\\n` and nowhere else: agents print U+2028, NEL and VT inside JSON strings.
Never here: decoding of any kind.
"""

from __future__ import annotations

from dataclasses import dataclass

# The longest line seen from a real agent is a base64 screenshot of about 14 MB. Four times that is kept;
# beyond it a stream is more likely broken than useful, and keeping it would let an agent fill our memory.
LINE_LIMIT_BYTES = 64 * 1024 * 1024

_BOM = b"\xef\xbb\xbf"
_PADDING = b"\r\0"


@dataclass(frozen=True, slots=True)
class Oversize:
    """A line that was longer than the limit: counted, not kept."""

    size_bytes: int


class Lines:
    """Cuts a stream of bytes into lines, without blanks, byte order marks, NULs and carriage returns."""

    def __init__(self, *, limit_bytes: int = LINE_LIMIT_BYTES) -> None:
        self._limit = limit_bytes
        self._pending: list[bytes] = []
        self._pending_bytes = 0

    def feed(self, chunk: bytes) -> list[bytes | Oversize]:
        """Take the next bytes; return the lines that they complete."""
        pieces = chunk.split(b"\n")
        tail = pieces.pop()
        lines: list[bytes | Oversize] = []
        if pieces and self._pending_bytes:
            self._keep(pieces[0])
            lines.extend(self.end())
            pieces[0] = b""
        if _needs_cleaning(chunk) or len(chunk) > self._limit:
            lines.extend(line for piece in pieces if (line := self._finish(piece, len(piece))))
        else:
            lines.extend(filter(None, pieces))
        self._keep(tail)
        return lines

    def end(self) -> list[bytes | Oversize]:
        """Return the line that was begun and not ended, if there is one."""
        line, size = b"".join(self._pending), self._pending_bytes
        self._pending, self._pending_bytes = [], 0
        piece = self._finish(line, size)
        return [piece] if piece else []

    def _keep(self, piece: bytes) -> None:
        """Hold a piece of an unfinished line; past the limit only its length."""
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
    """Strip what transports add to a line: a byte order mark, NULs, carriage returns."""
    line = line.strip(_PADDING)
    while line.startswith(_BOM):
        line = line[len(_BOM) :].lstrip(_PADDING)
    return line.replace(b"\0", b"") if b"\0" in line else line


def _needs_cleaning(chunk: bytes) -> bool:
    # Searches for one byte run at memory speed: cheaper over the chunk than one strip for every line in it.
    return b"\r" in chunk or b"\0" in chunk or (b"\xef" in chunk and _BOM in chunk)

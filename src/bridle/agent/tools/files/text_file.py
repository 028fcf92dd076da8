"""Decodes and encodes text files without loss: encoding, byte order mark, line endings."""

from __future__ import annotations

import re

from msgspec import Struct

# Enough to recognize a binary file.
SAMPLE_BYTES = 8192
# A file with a larger share of control characters is not text.
_CONTROL_SHARE = 0.3

_ESCAPED = re.compile("[\udc80-\udcff]")
_TEXT_CONTROLS = frozenset(b"\t\n\v\f\r\x1b\b")


class TextFile(Struct, frozen=True):
    """The text of a file with its original line endings."""

    raw: str
    encoding: str

    @property
    def text(self) -> str:
        """The text with LF line endings; a byte order mark stays as the first character."""
        return self.raw.replace("\r\n", "\n")

    @property
    def newline(self) -> str:
        """The line ending of most lines."""
        pairs = self.raw.count("\r\n")
        return "\r\n" if pairs > self.raw.count("\n") - pairs else "\n"

    def encode(self, raw: str) -> bytes:
        """Encode other text in the same encoding; raise UnicodeEncodeError if it cannot be encoded."""
        # Invalid UTF-8 bytes were decoded as lone surrogates, and become the same bytes again.
        return raw.encode(self.encoding, "surrogateescape" if self.encoding == "utf-8" else "strict")


def decode(data: bytes) -> TextFile:
    """Decode a text file of any encoding without losing bytes."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16-le" if data[0] == 0xFF else "utf-16-be"
        try:
            return TextFile(data.decode(encoding), encoding)
        except UnicodeDecodeError:
            pass  # not a byte order mark
    try:
        return TextFile(data.decode("utf-8"), "utf-8")
    except UnicodeDecodeError:
        escaped = data.decode("utf-8", "surrogateescape")
    # UTF-8 with a few invalid bytes still has valid non-ASCII characters. Without any it is an 8-bit encoding.
    if _ESCAPED.sub("", escaped).isascii():
        return TextFile(data.decode("latin-1"), "latin-1")
    return TextFile(escaped, "utf-8")


def replace_broken_bytes(text: str) -> str:
    """Replace the surrogates of undecodable bytes with U+FFFD, so that the text can be sent."""
    return text if text.isascii() else _ESCAPED.sub("\ufffd", text)


def replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which JSON can contain, with question marks."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def is_binary(sample: bytes) -> bool:
    """Return whether the beginning of a file shows that it is not text."""
    if b"\0" not in sample:
        return False
    if sample.startswith((b"\xff\xfe", b"\xfe\xff")):
        return False
    try:
        sample.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.end < len(sample):  # else the sample ends inside a character
            return True
    controls = sum(byte < 32 and byte not in _TEXT_CONTROLS for byte in sample)
    return controls > len(sample) * _CONTROL_SHARE

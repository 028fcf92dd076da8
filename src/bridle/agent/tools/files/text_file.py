"""A text file as the model sees it, and the bytes it has to become again: encoding, byte order mark, line endings."""

from __future__ import annotations

import re
from dataclasses import dataclass

# Enough to see what a file is; the head of a program or an archive gives itself away in far less.
SAMPLE_BYTES = 8192
# Text holds next to no control characters. A file with more of them than this share is not text.
_CONTROL_SHARE = 0.3

_ESCAPED = re.compile("[\udc80-\udcff]")
_TEXT_CONTROLS = frozenset(b"\t\n\v\f\r\x1b\b")


@dataclass(frozen=True)
class TextFile:
    """The whole text of a file, with its line endings as they are."""

    raw: str
    encoding: str

    @property
    def text(self) -> str:
        """With every line ending in a plain newline; a byte order mark stays in front, as a character."""
        return self.raw.replace("\r\n", "\n")

    @property
    def newline(self) -> str:
        """The line ending that most of its lines have."""
        pairs = self.raw.count("\r\n")
        return "\r\n" if pairs > self.raw.count("\n") - pairs else "\n"

    def encode(self, raw: str) -> bytes:
        """Other text in the same encoding; raises UnicodeEncodeError for what the encoding cannot hold."""
        # Bytes that are not UTF-8 came in as lone surrogates, and go out as the bytes they were.
        return raw.encode(self.encoding, "surrogateescape" if self.encoding == "utf-8" else "strict")


def decode(data: bytes) -> TextFile:
    """The text of a file, in whatever encoding it is; no byte is lost."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16-le" if data[0] == 0xFF else "utf-16-be"
        try:
            return TextFile(data.decode(encoding), encoding)
        except UnicodeDecodeError:
            pass  # the mark was chance
    try:
        return TextFile(data.decode("utf-8"), "utf-8")
    except UnicodeDecodeError:
        escaped = data.decode("utf-8", "surrogateescape")
    # UTF-8 with a few broken bytes still holds other letters that are whole. Without any, it is an old 8-bit encoding.
    if _ESCAPED.sub("", escaped).isascii():
        return TextFile(data.decode("latin-1"), "latin-1")
    return TextFile(escaped, "utf-8")


def replace_broken_bytes(text: str) -> str:
    """Text that can be sent: what stands for a broken byte becomes the replacement character."""
    return text if text.isascii() else _ESCAPED.sub("\ufffd", text)


def replace_surrogates(text: str) -> str:
    """Text that a file can hold: a lone surrogate, which a model's JSON can bring in, becomes a question mark."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def is_binary(sample: bytes) -> bool:
    """Whether the head of a file shows that it is not text."""
    if b"\0" not in sample:
        return False
    if sample.startswith((b"\xff\xfe", b"\xfe\xff")):
        return False
    try:
        sample.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.end < len(sample):  # else the sample ends in the middle of a letter
            return True
    controls = sum(byte < 32 and byte not in _TEXT_CONTROLS for byte in sample)
    return controls > len(sample) * _CONTROL_SHARE

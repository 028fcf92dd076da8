"""The last thing that an agent said, from the end of its transcript: a long one costs no more than a short one.

A transcript is lines of JSON that another program appends to while we read. Lines that are torn, garbage or somebody
else's are passed over.
"""

from __future__ import annotations

import os
import stat

from bridle.errors import DiskError
from bridle.ground.light import quick_json
from bridle.ground.light.abc_names import Iterator

# What an agent said last is nearly always in here; the blocks before it are larger each time.
FIRST_BLOCK_BYTES = 64 * 1024
LARGEST_BLOCK_BYTES = 4 * 1024 * 1024

# Behind the last words there can be the results of tools, some megabytes each. Whoever said nothing for this long said
# nothing.
LOOK_BACK_BYTES = 64 * 1024 * 1024

# As JSON writes it: inside any other text its quotes would be escaped.
_ASSISTANT = b'"assistant"'
_USER = (b'"type":"user"', b'"type": "user"')


class Words:
    """What an agent said last, as far as its transcript tells."""

    __slots__ = ("is_answered", "text")

    def __init__(self, text: str, *, is_answered: bool) -> None:
        self.text = text
        self.is_answered = is_answered
        """Whether a person, a hook or a tool spoke since: then these may be the words of an earlier turn."""


def last_text(path: str, *, block_bytes: int = FIRST_BLOCK_BYTES) -> str | None:
    """The last text that the agent itself said; None where it said nothing. DiskError where there is no such file."""
    words = last_words(path, block_bytes=block_bytes)
    return words.text if words is not None else None


def last_words(path: str, *, block_bytes: int = FIRST_BLOCK_BYTES) -> Words | None:
    """The last text, and whether somebody spoke after it."""
    try:
        # O_NONBLOCK: opening a named pipe that nobody writes to would wait for ever.
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError) as error:  # ValueError: a path that no file can have
        raise DiskError(f"the transcript {path!a} could not be read: {error}") from error
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            raise DiskError(f"the transcript {path!a} is not a regular file")
        return _words(_lines_from_end(fd, found.st_size, block_bytes))
    except OSError as error:
        raise DiskError(f"the transcript {path!a} could not be read: {error}") from error
    finally:
        os.close(fd)


def _words(lines: Iterator[bytes]) -> Words | None:
    is_answered = False
    for line in lines:
        text = _text_of(line) if _ASSISTANT in line else ""
        if text:
            return Words(text, is_answered=is_answered)
        is_answered = is_answered or any(sign in line for sign in _USER)
    return None


def _lines_from_end(fd: int, size: int, block: int) -> Iterator[bytes]:
    """The lines, the last one first; one that goes further back than we look is left out."""
    position, first = size, max(0, size - LOOK_BACK_BYTES)
    pieces: list[bytes] = []
    """Of the line whose beginning is not read yet, the last one first."""
    while position > first:
        length = min(block, position - first)
        position -= length
        head, *lines = os.pread(fd, length, position).split(b"\n")
        if lines:
            pieces.append(lines.pop())
            yield b"".join(reversed(pieces))
            yield from reversed(lines)
            pieces = []
        pieces.append(head)
        block = min(2 * block, LARGEST_BLOCK_BYTES)
    if position == 0:
        yield b"".join(reversed(pieces))


def _text_of(line: bytes) -> str:
    """What the agent says in a line; nothing where it is not the agent, or a sub-agent, or no text."""
    try:
        value = quick_json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return ""
    if not isinstance(value, dict) or value.get("isSidechain") is True:
        return ""
    message = value.get("message")
    inner = message if isinstance(message, dict) else value
    if "assistant" not in (value.get("role"), value.get("type"), inner.get("role")):
        return ""
    return _joined(inner.get("content"))


def _joined(content: object) -> str:
    if isinstance(content, str):
        return content.strip()
    blocks = content if isinstance(content, list) else []
    texts = [block.get("text") for block in blocks if isinstance(block, dict) and block.get("type") == "text"]
    return "\n".join(text for text in texts if isinstance(text, str)).strip()

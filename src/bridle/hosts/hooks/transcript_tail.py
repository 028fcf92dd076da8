"""Read the agent's last message from the end of its transcript, whatever its length.

A transcript is JSON lines that the host appends to while we read. Incomplete, invalid and unknown lines are skipped.
"""

from __future__ import annotations

import os
import stat

from bridle.errors import DiskError
from bridle.ground.light import quick_json
from bridle.ground.light.abc_names import Iterator

# The last message is nearly always in this first block; each earlier block is twice as large.
FIRST_BLOCK_BYTES = 64 * 1024
LARGEST_BLOCK_BYTES = 4 * 1024 * 1024

# Results of tools, some megabytes each, may follow the last message. Reading stops after this much.
LOOK_BACK_BYTES = 64 * 1024 * 1024

# With the quotes of JSON: inside a string they would be escaped.
_ASSISTANT = b'"assistant"'
_USER = (b'"type":"user"', b'"type": "user"')


class LastMessage:
    """The agent's last message in its transcript."""

    __slots__ = ("is_answered", "text")

    def __init__(self, text: str, *, is_answered: bool) -> None:
        self.text = text
        self.is_answered = is_answered
        """Whether a user, hook or tool message follows: then it may be of an earlier turn."""


def last_text(path: str, *, block_bytes: int = FIRST_BLOCK_BYTES) -> str | None:
    """Return the text of the last message, or None. Raise DiskError if the file cannot be read."""
    message = last_message(path, block_bytes=block_bytes)
    return message.text if message is not None else None


def last_message(path: str, *, block_bytes: int = FIRST_BLOCK_BYTES) -> LastMessage | None:
    """Return the last message of the main agent, or None."""
    try:
        # O_NONBLOCK: opening a named pipe without a writer would wait forever.
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError) as error:  # ValueError: an invalid path
        raise DiskError(f"could not read the transcript {path!a}: {error}") from error
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise DiskError(f"the transcript {path!a} is not a regular file")
        return _find_message(_lines_from_end(fd, status.st_size, block_bytes))
    except OSError as error:
        raise DiskError(f"could not read the transcript {path!a}: {error}") from error
    finally:
        os.close(fd)


def _find_message(lines: Iterator[bytes]) -> LastMessage | None:
    is_answered = False
    for line in lines:
        text = _text_of(line) if _ASSISTANT in line else ""
        if text:
            return LastMessage(text, is_answered=is_answered)
        is_answered = is_answered or any(sign in line for sign in _USER)
    return None


def _lines_from_end(fd: int, size: int, block: int) -> Iterator[bytes]:
    """Yield the lines, the last one first; omit one that begins before the part that is read."""
    position, first = size, max(0, size - LOOK_BACK_BYTES)
    pieces: list[bytes] = []
    """The parts of the line whose beginning has not been read, the last one first."""
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
    """Return the main agent's text in a line; empty for any other line."""
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
    return _join_texts(inner.get("content"))


def _join_texts(content: object) -> str:
    if isinstance(content, str):
        return content.strip()
    blocks = content if isinstance(content, list) else []
    texts = [block.get("text") for block in blocks if isinstance(block, dict) and block.get("type") == "text"]
    return "\n".join(text for text in texts if isinstance(text, str)).strip()

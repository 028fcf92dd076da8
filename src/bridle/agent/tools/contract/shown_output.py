"""How a command's output is told to the model: whole, by its beginning and a file, or without its middle. Pure."""

from __future__ import annotations

import re

# Of an output that is in a file, the model sees this much: enough to know what it is.
PREVIEW_CHARACTERS = 2000

# A failure explains itself at its beginning (the command's own words) or at its end (the error); the middle is noise.
FAILURE_SIDE_CHARACTERS = 5000

NO_OUTPUT = "(Bash completed with no output)"

_BLANK_LINES = r"\A(?:[^\S\n]*\n)+"


def trim_output(text: str) -> str:
    """Without the blank lines before it and the white space after it."""
    return re.sub(_BLANK_LINES, "", text).rstrip()


def preview(text: str) -> str:
    """The beginning of a text, up to the end of a line if one is near."""
    part = text[:PREVIEW_CHARACTERS]
    end = part.rfind("\n")
    return part[:end] if len(text) > PREVIEW_CHARACTERS and end > PREVIEW_CHARACTERS // 2 else part


def persisted_output(text: str, place: str) -> str:
    """What stands in the result for an output that went to a file; `place` says how large it is and where."""
    return f"<persisted-output>\n{place}\n\nPreview (first 2KB):\n{preview(text)}\n...\n</persisted-output>"


def cut_middle(head: str, tail: str, characters: int, *, where: str = "") -> str:
    """A failure's text of that many characters, of which the beginning and the end are given.

    `where` says, in the gap, where the whole of it is.
    """
    side = FAILURE_SIDE_CHARACTERS
    if characters <= 2 * side:
        return head
    gap = f"\n\n... [{characters - 2 * side} characters truncated{where}] ...\n\n"
    return f"{head[:side]}{gap}{tail[-side:]}"


def format_size(size_bytes: int) -> str:
    """A size for people: 29.3KB."""
    if size_bytes < 1024:
        return f"{size_bytes} bytes"
    number = float(size_bytes)
    for unit in ("KB", "MB", "GB"):
        number /= 1024
        if number < 1024 or unit == "GB":
            break
    return f"{number:.1f}".removesuffix(".0") + unit


def format_duration(seconds: float) -> str:
    """A time for people: 0.5s, 90 seconds as 1m 30s."""
    if seconds < 1:
        return f"{seconds:g}s"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h {minutes}m {rest}s"
    return f"{minutes}m {rest}s" if minutes else f"{rest}s"

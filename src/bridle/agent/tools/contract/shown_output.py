"""How the model sees the output of a command: complete, as a preview of a file, or without its middle. Pure."""

from __future__ import annotations

import re

# How much the model sees of an output that was saved to a file: enough to recognize it.
PREVIEW_CHARACTERS = 2000

# The cause of a failure is at the beginning of the output (usage) or at its end (the error); the middle is noise.
FAILURE_SIDE_CHARACTERS = 5000

NO_OUTPUT = "(Bash completed with no output)"

_BLANK_LINES = r"\A(?:[^\S\n]*\n)+"


def trim_output(text: str) -> str:
    """Strip leading blank lines and trailing whitespace."""
    return re.sub(_BLANK_LINES, "", text).rstrip()


def preview(text: str) -> str:
    """Return the beginning of a text, cut at a line break if one is near."""
    part = text[:PREVIEW_CHARACTERS]
    end = part.rfind("\n")
    return part[:end] if len(text) > PREVIEW_CHARACTERS and end > PREVIEW_CHARACTERS // 2 else part


def persisted_output(text: str, summary: str) -> str:
    """Return the result text for an output saved to a file; `summary` names its size and path."""
    return f"<persisted-output>\n{summary}\n\nPreview (first 2KB):\n{preview(text)}\n...\n</persisted-output>"


def cut_middle(head: str, tail: str, characters: int, *, where: str = "") -> str:
    """Join the beginning and the end of a failure's text of `characters` characters.

    `where` names, in the gap, the file that has the whole text.
    """
    side = FAILURE_SIDE_CHARACTERS
    if characters <= 2 * side:
        return head
    gap = f"\n\n... [{characters - 2 * side} characters truncated{where}] ...\n\n"
    return f"{head[:side]}{gap}{tail[-side:]}"


def format_size(size_bytes: int) -> str:
    """Format a size: 29.3KB."""
    if size_bytes < 1024:
        return f"{size_bytes} bytes"
    number = float(size_bytes)
    for unit in ("KB", "MB", "GB"):
        number /= 1024
        if number < 1024 or unit == "GB":
            break
    return f"{number:.1f}".removesuffix(".0") + unit


def format_timeout(seconds: float) -> str:
    """Format a duration: 0.5s, or 1m 30s for 90 seconds."""
    if seconds < 1:
        return f"{seconds:g}s"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h {minutes}m {rest}s"
    return f"{minutes}m {rest}s" if minutes else f"{rest}s"

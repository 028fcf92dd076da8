"""The promise tag, in which an agent prints the completion proof of its run."""

from __future__ import annotations

OPENING = "<promise>"
CLOSING = "</promise>"


def promise_in(text: str) -> str | None:
    """Return the content of the first complete promise tag, its white space collapsed; None without one."""
    start = text.find(OPENING)
    end = text.find(CLOSING, start + len(OPENING)) if start >= 0 else -1
    return " ".join(text[start + len(OPENING) : end].split()) if end >= 0 else None

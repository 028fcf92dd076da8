"""The promise tag: how an agent shows the completion proof of its run."""

from __future__ import annotations

OPENING = "<promise>"
CLOSING = "</promise>"


def promise_in(text: str) -> str | None:
    """What stands in the first whole promise tag, its white space collapsed; None where there is no tag."""
    start = text.find(OPENING)
    end = text.find(CLOSING, start + len(OPENING)) if start >= 0 else -1
    return " ".join(text[start + len(OPENING) : end].split()) if end >= 0 else None

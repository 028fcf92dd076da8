"""Text cut to a limit, with a count of what was left out. Secrets are masked before the cut."""

from __future__ import annotations

from msgspec import Struct

from bridle.wire.mask import Mask

ELLIPSIS = "…"


class Clipped(Struct, frozen=True):
    """The beginning of a text, and the size of the rest."""

    text: str = ""
    omitted_characters: int = 0
    omitted_lines: int = 0


class Clip:
    """A cutter of texts that never leaves half a secret before a cut."""

    def __init__(self, mask: Mask) -> None:
        self._mask = mask

    def __call__(self, text: str, limit: int) -> Clipped:
        """Return at most `limit` characters of a text."""
        if len(text) <= limit:
            return Clipped(text)
        head = self._mask.apply(text[: limit + self._mask.reach])[:limit]
        return Clipped(head, len(text) - limit, text.count("\n", limit))

    def end(self, text: str, limit: int) -> Clipped:
        """Return the last whole lines of a text, at most `limit` characters."""
        if len(text) <= limit:
            return Clipped(text)
        # A secret that the cut would halve begins before it, at most `reach` characters.
        start = len(text) - limit
        tail = self._mask.apply(text[max(0, start - self._mask.reach) :])[-limit:]
        kept = tail.partition("\n")[2] or tail
        return Clipped(kept, len(text) - len(kept), text.count("\n") - kept.count("\n"))

    def line(self, text: str, limit: int) -> str:
        """Return the first line of a text, with an ellipsis if more follows."""
        head = self._mask.apply(text[: limit + self._mask.reach]).lstrip()
        first = head.split("\n", 1)[0].rstrip()
        if len(first) >= limit:
            return first[: limit - 1] + ELLIPSIS
        return f"{first} {ELLIPSIS}" if text.strip() != first and len(head) > len(first) + 1 else first

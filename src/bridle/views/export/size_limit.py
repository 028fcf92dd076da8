"""How much an export holds, and what was left out of it."""

from __future__ import annotations

# A browser opens a page of this size in seconds, and an editor a text; a run of a day has a tenth of it.
LIMIT_BYTES = 64 * 1024 * 1024


class SizeLimit:
    """The bytes that are left, and a remark for each thing that did not fit."""

    def __init__(self, limit_bytes: int = LIMIT_BYTES) -> None:
        self._left = limit_bytes
        self.omitted: list[str] = []
        """What was left out, one line each."""

    def take(self, size_bytes: int) -> bool:
        """Return whether this much still fits; then it counts."""
        if size_bytes > self._left:
            return False
        self._left -= size_bytes
        return True

    def omit(self, remark: str) -> None:
        """Note what was left out, and where it is."""
        self.omitted.append(remark)

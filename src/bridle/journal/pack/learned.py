"""Values that a reader read from separate files, for the pack to include."""

from __future__ import annotations

from bridle.journal.format.entries import EFFECT_REQUESTED, Entry
from bridle.journal.pack import write_pack


class Learned:
    """Values of results and digests of inputs that were read from separate files."""

    __slots__ = ("digests", "values")

    def __init__(self, values: dict[str, object] | None = None, digests: dict[str, str] | None = None) -> None:
        self.values = values or {}
        self.digests = digests or {}

    @property
    def count(self) -> int:
        """Return how many there are."""
        return len(self.values) + len(self.digests)

    def line_of(self, entry: Entry) -> bytes:
        """Return the line of an entry with its value or digest, and forget these."""
        effect_id = str(entry.data["effectId"])
        if entry.type == EFFECT_REQUESTED:
            return write_pack.entry_line(entry, digest=self.digests.pop(effect_id, None))
        has_value = effect_id in self.values
        return write_pack.entry_line(entry, value=self.values.pop(effect_id, None), has_value=has_value)

    def lines(self) -> list[bytes]:
        """Return separate lines for the rest."""
        values = [write_pack.value_line(effect_id, value) for effect_id, value in self.values.items()]
        return values + [write_pack.digest_line(effect_id, digest) for effect_id, digest in self.digests.items()]

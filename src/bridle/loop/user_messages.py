"""What a person says while a run is under way: hints, other limits, a task to try again. Kept in the run's journal."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from bridle.journal.format.entries import Entry
from bridle.journal.stores.store import Store

HINT = "BRIDLE_LOOP_HINT"
LIMITS = "BRIDLE_LOOP_LIMITS"
RETRY = "BRIDLE_LOOP_RETRY"
OWNER = "loop"


@dataclass
class UserMessages:
    """Reads what was said since an iteration last heard of it."""

    store: Store
    _given: set[int] = field(default_factory=set)
    _said: dict[int, Entry] = field(default_factory=dict)
    """What people said, by its number: the notes in between are read once."""
    _known: int = 0
    """How many notes were read."""

    def since(self, after: int) -> dict[str, Any]:
        """Everything newer than that entry, and the number to ask with next time."""
        hints: list[str] = []
        retries: list[str] = []
        retries_at: list[int] = []
        limits: dict[str, Any] = {}
        last = after
        for entry in self._heard():
            if entry.seq <= after:
                continue
            if entry.type == HINT:
                hints += self._once(entry.seq, str(entry.data.get("text") or ""))
            elif entry.type == RETRY:
                retries.append(str(entry.data.get("task") or ""))
                retries_at.append(entry.seq)
            else:
                limits |= {str(name): value for name, value in entry.data.items()}
            last = entry.seq
        return {"after": last, "hints": hints, "retries": retries, "retries_at": retries_at, "limits": limits}

    def _heard(self) -> Iterable[Entry]:
        notes = self.store.state().notes
        new, self._known = notes[self._known :], len(notes)
        self._said.update((entry.seq, entry) for entry in new if entry.type in (HINT, LIMITS, RETRY))
        return self._said.values()

    def _once(self, seq: int, text: str) -> list[str]:
        """A hint for whoever asks first: of several workers at once, one hears it."""
        if seq in self._given:
            return []
        self._given.add(seq)
        return [text]

    def asked_at(self, label: str) -> str | None:
        """When the effect with this label was asked for that waits for its result; None where none does."""
        return next((one.request.recorded_at for one in self.store.state().pending if one.label == label), None)


def say(store: Store, entry_type: str, data: dict[str, Any]) -> None:
    """Keep what a person said; the next iteration hears it."""
    with store.write(OWNER) as writer:
        writer.append(entry_type, data)

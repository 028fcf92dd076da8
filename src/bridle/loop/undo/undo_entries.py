"""Journal entries of `bridle undo`. Small, since `bridle status` imports it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from bridle.ground.json_fields import JsonFields
from bridle.journal.format.entries import Entry
from bridle.journal.stores.store import Store

BEGUN = "BRIDLE_LOOP_UNDO"
DONE = "BRIDLE_LOOP_UNDONE"
OWNER = "undo"
# The refs with the work of runs that were undone.
UNDONE = "refs/bridle/undone/"


class UndoState(Struct, frozen=True):
    """How far a run is undone."""

    attempts: int = 0
    """How often undo has begun."""
    left_alone: tuple[str, ...] = ()
    """The files that the first attempt decided not to restore."""
    is_done: bool = False
    kept: str = ""
    """The ref with the work; empty where there is none."""


def read(notes: Iterable[Entry]) -> UndoState:
    """Return how far a run is undone, from the notes of its journal."""
    begun = done = None
    attempts = 0
    for entry in notes:
        if entry.type == BEGUN:
            begun, attempts = begun or JsonFields(entry.data), attempts + 1
        elif entry.type == DONE:
            done = JsonFields(entry.data)
    left_alone = () if begun is None else begun.texts("left_alone") or ()
    return UndoState(attempts, left_alone, done is not None, "" if done is None else done.text("kept") or "")


def append(store: Store, entry_type: str, data: dict[str, Any]) -> None:
    """Add an entry to the journal of a run."""
    with store.write(OWNER) as writer:
        writer.append(entry_type, data)

"""Journal entries of `bridle undo`. Small, since `bridle status` imports it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from bridle.errors import UsageError
from bridle.ground.json_fields import JsonFields
from bridle.journal.format.entries import Entry
from bridle.journal.stores.file_store import FileStore
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
    """The ref with the work, or an empty text."""


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


def describe_undone(store: FileStore) -> str:
    """Return that a run was undone, and the ref with its work; empty if it was not."""
    state = read(store.state().notes)
    if not state.attempts:
        return ""
    if not state.is_done:
        return f"`bridle undo` was interrupted; finish it: bridle undo {store.run.name}"
    return f"this run was undone; its work is kept as {state.kept}" if state.kept else "this run was undone"


def check_not_undone(store: FileStore) -> None:
    """Raise UsageError for a run that was undone."""
    if undone := describe_undone(store):
        raise UsageError(
            f"run {store.run.name} cannot continue: {undone}",
            remedy=f"Start a new run, or look at the work: git log -p {UNDONE}{store.run.name.lower()}",
        )


def append(store: Store, entry_type: str, data: dict[str, Any]) -> None:
    """Add an entry to the journal of a run."""
    with store.write(OWNER) as writer:
        writer.append(entry_type, data)

"""A run as it was at an entry of its journal: its receipt, what was pending, and the files of its working copy."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

from bridle.errors import Error
from bridle.ground import ids
from bridle.ground.json_fields import JsonFields
from bridle.journal.format.entries import Effect
from bridle.journal.format.state import State, fold
from bridle.journal.stores.file_store import FileStore
from bridle.loop.control.current_state import replay_receipt, with_effect_ids
from bridle.loop.run_inputs import is_loop_run, read_place
from bridle.views.run_data.commits import diff_document, open_git
from bridle.views.run_data.journal_entries import describe_effect, entry_document
from bridle.wire.events.loose_json import JsonObject
from bridle.wire.mask import Mask
from bridle.workspace.blocking_git import BlockingGit
from bridle.workspace.snapshot import REFS

NO_SNAPSHOT = "no state of the working copy is recorded before this entry"
LOST_SNAPSHOT = "git does not have the files of this moment any more"
_OBJECT = re.compile("[0-9a-f]{40,64}")
NO_LOOP = "only runs of the loop record their working copy"


def state_at(store: FileStore, seq: int, environment: Mapping[str, str], mask: Mask) -> JsonObject | None:
    """Return the run as it was at an entry; None if it has no such entry.

    Must not be called while an event loop runs in this thread.
    """
    whole = store.state()
    if not 1 <= seq <= whole.position.seq:
        return None
    state = fold(islice(store.entries(), seq))
    assert state.last is not None  # noqa: S101  # it has at least one entry
    receipt = replay_receipt(store, state) if is_loop_run(store) else None
    receipt = None if receipt is None else with_effect_ids(receipt, state.pending)
    document: JsonObject = {
        "seq": seq,
        "entry": entry_document(state.last, store, whole, mask),
        "receipt": None if receipt is None else mask.apply_to_json(receipt.as_json()),
        "pending": [_pending(store, effect, mask) for effect in state.pending],
    }
    tasks = [] if document["receipt"] is None else document["receipt"]["tasks"]
    return document | {"tasks": tasks} | _working_copy(store, state, environment, mask)


def _pending(store: FileStore, effect: Effect, mask: Mask) -> JsonObject:
    label, task, iteration = describe_effect(store, effect)
    document = {"effect": effect.effect_id, "kind": effect.kind, "label": label, "task": task, "iteration": iteration}
    masked: JsonObject = mask.apply_to_json(document)
    return masked


def _working_copy(store: FileStore, state: State, environment: Mapping[str, str], mask: Mask) -> JsonObject:
    """Return the diff between the commit that the run began with and the files of then; or why there is none."""
    if not is_loop_run(store):
        return {"diff": None, "why": NO_LOOP}
    place = read_place(store)
    names = list(_recorded_trees(store, state))
    if not names or not _OBJECT.fullmatch(place.base):
        return {"diff": None, "why": NO_SNAPSHOT}
    git = open_git(Path(place.repository), environment)
    tree = None if git is None else next((name for name in names if _is_there(git, name)), None)
    if git is None or tree is None:
        return {"diff": None, "why": LOST_SNAPSHOT}
    try:
        return {"diff": diff_document(git, place.base, tree, mask), "why": None}
    except Error as error:
        return {"diff": None, "why": error.message}


def _recorded_trees(store: FileStore, state: State) -> Iterator[str]:
    """Yield the names by which git may know the current files: those of the newest result that recorded some."""
    for effect in reversed(state.resolved):
        try:
            fields = JsonFields(store.result(effect).value)
        except Error:
            continue
        snapshot = fields.text("snapshot") or ""
        names = [name for name in (fields.text("tree"), fields.text("head")) if name and _OBJECT.fullmatch(name)]
        names += [REFS + snapshot] if snapshot and ids.is_id(snapshot) else []
        if names:
            yield from names
            return


def _is_there(git: BlockingGit, name: str) -> bool:
    return git.run("cat-file", "-e", f"{name}^{{tree}}", accepts=(0, 1, 128))[0] == 0

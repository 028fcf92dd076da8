"""The receipt of a run as it is now, from its journal alone: its process is executed on what was recorded.

No effect is requested and nothing is written. Results are delivered in the order in which they were recorded, as in
every replay; the process stops at the first effects that have none.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

import msgspec

from bridle.engine.process.load_process import load_built_in
from bridle.engine.replay.answers import Run
from bridle.engine.replay.replay import Replay
from bridle.ground import clock, ids
from bridle.journal.format.entries import Effect
from bridle.journal.stores.file_store import FileStore
from bridle.loop.control import pauses, pending_waits
from bridle.loop.process.receipt import Receipt
from bridle.loop.run_inputs import PROCESS_ID, read_inputs


def read_receipt(run: Path) -> Receipt:
    """Return the receipt of a run as it is now. Must not be called while an event loop runs in this thread."""
    store = FileStore(run)
    return complete_receipt(replay_receipt(store), store)


def complete_receipt(receipt: Receipt, store: FileStore) -> Receipt:
    """Return a receipt with what its process does not know: ids of questions, and what the run waits for."""
    paused = pauses.pending_pause(store)
    return msgspec.structs.replace(
        with_effect_ids(receipt, store.state().pending),
        stopped=None if paused is None else paused.reason,
        waiting=pending_waits.current(store),
    )


def with_effect_ids(receipt: Receipt, pending: Iterable[Effect]) -> Receipt:
    """Return a receipt with the ids by which its questions are answered."""
    by_label = {effect.label: effect.effect_id for effect in pending}
    tasks = tuple(
        msgspec.structs.replace(task, effect=by_label.get(f"needs-you: {task.title}")) if task.question else task
        for task in receipt.tasks
    )
    return msgspec.structs.replace(receipt, tasks=tasks)


def replay_receipt(store: FileStore) -> Receipt:
    """Return the receipt as the process knows it. Must not be called while an event loop runs in this thread."""
    inputs, state = read_inputs(store), store.state()
    run = Run(inputs.run, PROCESS_ID, "", store.inputs(state.created))
    # The clock stops where the journal ends.
    now = clock.now() if state.last is None else datetime.fromisoformat(state.last.recorded_at)
    replay = Replay(load_built_in(PROCESS_ID), run, now=lambda: now)
    try:
        replay.catch_up(store, ids, state)
        if replay.error is not None:
            raise replay.error
        receipt: Receipt = replay.process_state
        return receipt
    finally:
        replay.cancel()

"""The receipt of a run as it is now, from its journal alone: its process is executed on what was recorded.

No effect is requested and nothing is written. Results are delivered in the order in which they were recorded, as in
every replay; the process stops at the first effects that have none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from bridle.engine.process.define_task import Registry
from bridle.engine.process.load_process import Process
from bridle.engine.replay.answers import Run
from bridle.engine.replay.replay import Replay
from bridle.errors import UsageError
from bridle.ground import clock, ids
from bridle.journal.format.entries import Effect
from bridle.journal.format.state import State
from bridle.journal.stores.file_store import FileStore
from bridle.loop.control import pauses, usage_limit_waits
from bridle.loop.process import ralph
from bridle.loop.process.ralph import Loop
from bridle.loop.process.receipt import Receipt, Waiting


def read_receipt(run: Path) -> Receipt:
    """Return the receipt of a run as it is now. Must not be called while an event loop runs in this thread."""
    store = FileStore(run)
    return complete_receipt(replay_receipt(store), store)


def complete_receipt(receipt: Receipt, store: FileStore) -> Receipt:
    """Return a receipt with what its process does not know: ids of questions, and what the run waits for."""
    paused = pauses.pending_pause(store)
    wait = usage_limit_waits.current(store)
    waiting = None
    if wait is not None:
        until = datetime.fromtimestamp(wait.until_seconds, UTC)
        waiting = Waiting(reason=wait.why, until=clock.iso(until))
    return msgspec.structs.replace(
        with_effect_ids(receipt, store.state().pending),
        stopped=None if paused is None else paused.reason,
        waiting=waiting,
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
    inputs = store.inputs()
    if not isinstance(inputs, dict) or "plan" not in inputs:
        raise UsageError(
            f"{store.run} is not a run of the loop", remedy="Continue runs of other processes with: bridle drive"
        )
    state = store.state()
    metadata = store.metadata()
    run = Run(str(metadata.get("runId")), str(metadata.get("processId")), "", inputs)
    process = _LoopProcess()
    replay = Replay(process, run, now=lambda: _last_moment(state))
    try:
        replay.catch_up(store, process, state)
        if replay.error is not None:
            raise replay.error
        return process.loop.receipt()
    finally:
        replay.cancel()


class _LoopProcess(Process):
    """The loop's process, with access to its state."""

    def __init__(self) -> None:
        super().__init__(Path(ralph.__file__), "process", "", self._run, {}, Registry())
        self.loop: Loop

    @contextmanager
    def active(self) -> Iterator[None]:
        """Leave the imports alone: everything is imported already."""
        yield

    def new_id(self) -> str:
        """Return an id for an effect that is never written."""
        return ids.new_id()

    async def _run(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        self.loop = Loop(inputs, ctx)
        return (await self.loop.run()).as_json()


def _last_moment(state: State) -> datetime:
    """Return the time of the last entry: the clock stops where the journal ends."""
    return clock.now() if state.last is None else datetime.fromisoformat(state.last.recorded_at)

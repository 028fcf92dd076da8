"""Where a run of the loop stands, from its journal alone: its process is run once more on what was recorded.

Nothing is asked for and nothing is written. Results are delivered in the order in which they came in, as in every
replay; effects that have none stay open, and there the process rests.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from bridle.engine.process.define_task import Registry
from bridle.engine.process.load_process import Process
from bridle.engine.replay.answers import Run
from bridle.engine.replay.replay import Replay
from bridle.ground import clock, ids
from bridle.ground.threads import in_thread, undisturbed
from bridle.journal.format.entries import Effect
from bridle.journal.format.state import State
from bridle.journal.stores.store import Store
from bridle.loop.process import ralph
from bridle.loop.process.ralph import Loop


async def current_receipt(store: Store) -> tuple[dict[str, Any], list[Effect]]:
    """The receipt of a run as it stands, and what it waits for."""
    return await undisturbed(in_thread(lambda: recall(store), name="reading where the run stands"))


def recall(store: Store) -> tuple[dict[str, Any], list[Effect]]:
    """The same; not to be called on a thread whose event loop is running."""
    inputs = store.inputs()
    if not isinstance(inputs, dict):
        return {}, []
    state = store.state()
    metadata = store.metadata()
    told = Run(str(metadata.get("runId")), str(metadata.get("processId")), "", inputs)
    watched = _Watched()
    replay = Replay(watched, told, now=lambda: _last_moment(state))
    try:
        replay.catch_up(store, watched, state)
        if replay.error is not None:
            raise replay.error
        receipt: dict[str, Any] = replay.value if replay.has_returned else watched.loop.receipt()
        return receipt, list(state.pending)
    finally:
        replay.cancel()


class _Watched(Process):
    """The loop's process as it is imported here, with a hand on what it knows."""

    def __init__(self) -> None:
        super().__init__(Path(ralph.__file__), "process", "", self._run, {}, Registry())
        self.loop: Loop

    @contextmanager
    def active(self) -> Iterator[None]:
        """All that it imports is imported already: nobody's imports need to be led elsewhere meanwhile."""
        yield

    def new_id(self) -> str:
        """An id for what it would ask for next, which nobody will write."""
        return ids.new_id()

    async def _run(self, inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
        self.loop = Loop(inputs, ctx)
        return await self.loop.run()


def _last_moment(state: State) -> datetime:
    """Time stands still where the journal ends: nothing is known of what came after."""
    return clock.now() if state.last is None else datetime.fromisoformat(state.last.recorded_at)

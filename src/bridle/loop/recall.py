"""Where a run of the loop stands, from its journal alone: its process is run once more on what was recorded.

Nothing is asked for and nothing is written. Effects that have no result stay open, and there the process rests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from bridle.engine import notes
from bridle.engine.effects import failure
from bridle.journal.entries import ERROR, Effect
from bridle.journal.store import Store
from bridle.loop.ralph import Loop

# The process rests after a few turns of the event loop; more would be a process that never does.
TURNS = 10_000


class Recall:
    """A context that answers from the journal."""

    def __init__(self, store: Store) -> None:
        state = store.state()
        self._store = store
        self._effects = iter(state.effects.values())
        self._clock: Iterator[str] = (
            str(entry.data.get("now")) for entry in state.notes if entry.type == notes.CLOCK_READ
        )
        self._now = datetime.fromtimestamp(0, UTC)
        self.open: list[Effect] = []
        """What the process waits for."""
        self.asked = 0

    def task(self, _task: Any, _args: Any = None, **_names: Any) -> asyncio.Future[Any]:
        """The recorded result of the next step, or a promise that is never kept."""
        return self._next()

    def breakpoint(self, _payload: Any = None, **_names: Any) -> asyncio.Future[Any]:
        """The same for a question."""
        return self._next()

    def sleep_until(self, _until: Any, **_names: Any) -> asyncio.Future[Any]:
        """The same for a pause."""
        return self._next()

    def now(self) -> datetime:
        """A moment of the run, as far as they were recorded."""
        text = next(self._clock, None)
        if text is not None:
            self._now = datetime.fromisoformat(text)
        return self._now

    def _next(self) -> asyncio.Future[Any]:
        promise: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        effect = next(self._effects, None)
        self.asked += 1
        if effect is None or effect.is_pending:
            if effect is not None:
                self.open.append(effect)
            return promise
        result = self._store.result(effect)
        if result.status == ERROR:
            promise.set_exception(failure(result.error))
        else:
            promise.set_result(result.value)
        return promise


async def stand(store: Store) -> tuple[dict[str, Any], list[Effect]]:
    """The receipt of a run as it stands, and what it waits for."""
    inputs = store.inputs()
    if not isinstance(inputs, dict):
        return {}, []
    recall = Recall(store)
    loop = Loop(inputs, recall)
    task = asyncio.create_task(loop.run())
    seen = -1
    for _ in range(TURNS):
        await asyncio.sleep(0)
        if task.done() or (seen == recall.asked and not _is_busy(task)):
            break
        seen = recall.asked
    if task.done():
        document: dict[str, Any] = task.result()
        return document, []
    task.cancel()
    await asyncio.wait({task})
    return loop.receipt(), recall.open


def _is_busy(task: asyncio.Task[Any]) -> bool:
    """Whether the process would go on at the next turn of the event loop."""
    waits_for = getattr(task, "_fut_waiter", None)
    return waits_for is None or waits_for.done()

"""The pending waits of a run, for a usage limit or an overloaded endpoint: shown, and ended early by the user."""

from __future__ import annotations

from datetime import UTC, datetime

from bridle.errors import EffectError
from bridle.ground import clock
from bridle.journal.format.entries import OK, SLEEP, Posted
from bridle.journal.stores.file_store import FileStore
from bridle.loop.process.receipt import Wait

OWNER = "loop"


def current(store: FileStore) -> Wait | None:
    """Return the wait that is pending, if any."""
    position = store.position()
    for effect_id, pending in position.pending.items():
        effect = store.pending_effect(position, effect_id) if pending.kind == SLEEP else None
        if effect is not None:
            task = store.task(effect)
            if task.sleep_until_ms is not None:
                until = clock.iso(datetime.fromtimestamp(task.sleep_until_ms / 1000, UTC))
                return Wait(effect_id=effect_id, reason=task.title or "a moment", until=until)
    return None


def end(store: FileStore, wait: Wait) -> bool:
    """End a wait now; False where it has already ended."""
    stamp = clock.iso(clock.now())
    try:
        with store.write(OWNER) as writer:
            writer.resolve(wait.effect_id, Posted(OK, value=None, started_at=stamp, finished_at=stamp))
    except EffectError:
        return False
    return True

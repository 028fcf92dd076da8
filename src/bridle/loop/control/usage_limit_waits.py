"""The waits of a run: until a usage limit is lifted, or an endpoint has room again. A person can end one early."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bridle.engine.process.effects import SLEEP
from bridle.errors import EffectError
from bridle.ground import clock
from bridle.journal.format.entries import OK, Posted
from bridle.journal.stores.store import Store

OWNER = "loop"


@dataclass(frozen=True)
class Wait:
    """A wait until a moment."""

    effect_id: str
    until_seconds: float
    """Since 1970."""
    why: str


def current(store: Store) -> Wait | None:
    """What the run waits for, where it is only the time that must pass."""
    for effect_id, one in store.standing().pending.items():
        if one.kind == SLEEP:
            task = store.task(effect_id)
            when = task.get("sleep")
            target = when.get("targetEpochMs") if isinstance(when, Mapping) else None
            if isinstance(target, int):
                return Wait(effect_id, target / 1000, str(task.get("title") or "a moment"))
    return None


def end(store: Store, nap: Wait) -> bool:
    """End a wait now; False where it is over already."""
    stamp = clock.iso(clock.now())
    try:
        with store.write(OWNER) as writer:
            writer.resolve(nap.effect_id, Posted(OK, value=None, started_at=stamp, finished_at=stamp))
    except EffectError:
        return False
    return True

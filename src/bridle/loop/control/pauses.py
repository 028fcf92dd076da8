"""Pauses of a run: which one is pending, and ending it with what the user sent."""

from __future__ import annotations

import msgspec

from bridle.ground import clock
from bridle.journal.format.entries import OK, Posted
from bridle.journal.format.state import Position
from bridle.journal.stores.file_store import FileStore
from bridle.loop import effects
from bridle.loop.effect_results import PauseResult
from bridle.loop.effects import PauseArgs
from bridle.loop.user_messages import UserMessageReader


def pending_pause(store: FileStore) -> PauseArgs | None:
    """Return the arguments of the pause that a run is in; None where it is in none."""
    position = store.position()
    for effect_id in _pending(position):
        effect = store.pending_effect(position, effect_id)
        return None if effect is None else PauseArgs.from_json(store.task(effect).inputs)
    return None


def end_pause(store: FileStore, result: PauseResult) -> bool:
    """Let a paused run continue; False where it is not paused."""
    stamp = clock.iso(clock.now())
    paused = _pending(store.position())
    for effect_id in paused:
        with store.write("resume") as writer:
            writer.resolve(effect_id, Posted(OK, value=result.as_json(), started_at=stamp, finished_at=stamp))
    return bool(paused)


def deliver_user_messages(store: FileStore) -> bool:
    """Let a paused run continue with the limits and retries that the user sent since; False where there are none."""
    paused = pending_pause(store)
    if paused is None:
        return False
    received = UserMessageReader(store).since(paused.after)
    if not received.retries and not received.limits:
        return False
    return end_pause(store, PauseResult(**msgspec.structs.asdict(received), kept_hints=received.hints))


def _pending(position: Position) -> list[str]:
    return [effect_id for effect_id, effect in position.pending.items() if effect.kind == effects.PAUSE]

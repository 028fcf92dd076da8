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
    """Return the arguments of the pause that a run is in; None if it is not paused, or only has open questions."""
    pauses = _pending_pauses(store).values()
    return next((args for args in pauses if args.why != effects.WHY_QUESTIONS), None)


def end_pause(store: FileStore, result: PauseResult) -> bool:
    """Let a paused run continue; False where it is not paused."""
    stamp = clock.iso(clock.now())
    paused = _pending(store.position())
    for effect_id in paused:
        with store.write("resume") as writer:
            writer.resolve(effect_id, Posted(OK, value=result.as_json(), started_at=stamp, finished_at=stamp))
    return bool(paused)


def deliver_user_messages(store: FileStore) -> bool:
    """Continue a paused run with the limits, retries and plan that the user sent since; return whether it continues."""
    pauses = _pending_pauses(store).values()
    if not pauses:
        return False
    received = UserMessageReader(store).since(min(paused.after for paused in pauses))
    if not received.retries and not received.limits and received.plan is None:
        return False
    return end_pause(store, PauseResult(**msgspec.structs.asdict(received), kept_hints=received.hints))


def _pending_pauses(store: FileStore) -> dict[str, PauseArgs]:
    position = store.position()
    found = {effect_id: store.pending_effect(position, effect_id) for effect_id in _pending(position)}
    return {
        effect_id: PauseArgs.from_json(store.task(effect).inputs)
        for effect_id, effect in found.items()
        if effect is not None
    }


def _pending(position: Position) -> list[str]:
    return [effect_id for effect_id, effect in position.pending.items() if effect.kind == effects.PAUSE]

"""What may be asked for and posted: the rules that every store applies before it writes anything."""

from __future__ import annotations

from bridle.errors import EffectNotFound, EffectResolved, InternalError, KeyMismatch
from bridle.journal.format.entries import Effect, Request
from bridle.journal.format.state import State


def pending_effect(state: State, effect_id: str, *, key: str | None) -> Effect:
    """The effect that waits for a result; any other is refused with an EffectError."""
    effect = state.effects.get(effect_id)
    if effect is None:
        raise not_found(effect_id)
    if not effect.is_pending:
        raise EffectResolved(
            f"effect {effect_id} is not requested (status={effect.status}): it has its result already",
            remedy="Nothing was changed. bridle task:show RUN EFFECT tells what was posted.",
        )
    check_key(effect, key)
    return effect


def check_unused(state: State, request: Request) -> None:
    """Refuse to ask for the same step, or with the same id, a second time."""
    for known, what in ((state.by_key.get(request.key), "key"), (state.effects.get(request.effect_id), "id")):
        if known is not None:
            raise InternalError(f"the {what} of effect {request.effect_id} ({request.key}) is in use", payload=known)


def check_key(effect: Effect, key: str | None) -> None:
    """Refuse a caller that means another effect."""
    if key is not None and key != effect.key:
        raise KeyMismatch(
            f"invocation key mismatch for effect {effect.effect_id}: it is {effect.key!r}, not {key!r}",
            remedy="Nothing was changed. bridle task:list RUN --pending lists the effects that wait.",
        )


def not_found(effect_id: str) -> EffectNotFound:
    """The refusal for an id that the journal does not know."""
    return EffectNotFound(
        f"effect {effect_id} not found: no entry of the journal asks for it",
        remedy="bridle task:list RUN lists the effects of the run.",
    )

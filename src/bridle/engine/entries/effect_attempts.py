"""What a driver has begun: noted in the journal before anything is done, so that a crash leaves no doubt.

| type | data | when |
|---|---|---|
| BRIDLE_EFFECT_STARTED | effectId, attempt, kind | before an effect is performed |
| BRIDLE_EFFECT_DELIVERED | effectId, attempt, base, head, tree, changed, ref | an agent in its own copy is done |
| BRIDLE_EFFECT_JOINING | effectId, attempt, head, ours, tree | before its work is brought into the repository |
| BRIDLE_EFFECT_DOUBT | effectId, attempt, question | it was under way and may not be repeated unasked |
| BRIDLE_EFFECT_AGAIN | effectId, respondedBy | a person says that it is to be done again |
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from bridle.journal.format.entries import Effect, Entry
from bridle.journal.format.state import State, broken

STARTED = "BRIDLE_EFFECT_STARTED"
DELIVERED = "BRIDLE_EFFECT_DELIVERED"
JOINING = "BRIDLE_EFFECT_JOINING"
DOUBT = "BRIDLE_EFFECT_DOUBT"
AGAIN = "BRIDLE_EFFECT_AGAIN"


@dataclass(frozen=True)
class UnderWay:
    """What is known of an effect that somebody may have begun and nobody has resolved."""

    attempts: int = 0
    """How often it was begun."""
    question: str | None = None
    """What a person must decide first."""
    is_wanted_again: bool = False
    """Whether a person said since the last attempt that it is to be done again."""
    delivered: Mapping[str, Any] | None = None
    """The note of work that is done and only has to be brought in."""
    joining: Mapping[str, Any] | None = None
    """The note of how that was begun."""


def read(state: State) -> dict[str, UnderWay]:
    """The effects that were begun and still wait, by their id."""
    found: dict[str, UnderWay] = {}
    for entry in state.notes:
        if entry.type not in _STEPS:
            continue
        effect_id = entry.data.get("effectId")
        if not isinstance(effect_id, str):
            raise broken(entry, "names no effect")
        if effect_id in state.standing.pending:
            found[effect_id] = _STEPS[entry.type](found.get(effect_id, UnderWay()), entry)
    return found


def begun(effect: Effect, attempt: int) -> dict[str, object]:
    """What the note of its beginning says."""
    return {"effectId": effect.effect_id, "attempt": attempt, "kind": effect.kind}


def question(effect: Effect) -> str:
    """What a person is asked about an effect whose driver ended in the midst of it."""
    name = effect.label or effect.task_id
    return (
        f"{effect.kind} effect {name!r} was under way when its driver ended, and may have done its work already."
        " Answer `again` to do it once more, or post its result with task:post."
    )


def _started(known: UnderWay, _entry: Entry) -> UnderWay:
    return UnderWay(known.attempts + 1)


def _doubt(known: UnderWay, entry: Entry) -> UnderWay:
    return replace(known, question=str(entry.data.get("question")), is_wanted_again=False)


def _again(known: UnderWay, _entry: Entry) -> UnderWay:
    return replace(known, question=None, is_wanted_again=True)


def _delivered(known: UnderWay, entry: Entry) -> UnderWay:
    return replace(known, delivered=entry.data)


def _joining(known: UnderWay, entry: Entry) -> UnderWay:
    return replace(known, joining=entry.data)


_STEPS = {STARTED: _started, DOUBT: _doubt, AGAIN: _again, DELIVERED: _delivered, JOINING: _joining}

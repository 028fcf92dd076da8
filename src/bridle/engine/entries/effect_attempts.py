"""Attempts at effects: recorded in the journal before a driver starts one, so that a crash can be detected.

| type | data | when |
|---|---|---|
| BRIDLE_EFFECT_STARTED | effectId, attempt, kind | before an effect is executed |
| BRIDLE_EFFECT_DELIVERED | effectId, attempt, base, head, tree, changed, ref | an agent in a worktree has finished |
| BRIDLE_EFFECT_JOINING | effectId, attempt, head, ours, tree | before its work is merged into the repository |
| BRIDLE_EFFECT_DOUBT | effectId, attempt, question | it was interrupted and must not be repeated without asking |
| BRIDLE_EFFECT_AGAIN | effectId, respondedBy | the user wants it to be executed again |
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from bridle.journal.format.entries import Effect, Entry
from bridle.journal.format.state import State, broken, text_field

STARTED = "BRIDLE_EFFECT_STARTED"
DELIVERED = "BRIDLE_EFFECT_DELIVERED"
JOINING = "BRIDLE_EFFECT_JOINING"
DOUBT = "BRIDLE_EFFECT_DOUBT"
AGAIN = "BRIDLE_EFFECT_AGAIN"


class Delivery(NamedTuple):
    """The finished work of an agent in a worktree, to be merged into the repository."""

    attempt: int
    base: str
    """The commit of the snapshot that the agent started from."""
    head: str | None
    """The commit that was checked out then; the agent's own commits are after it."""
    tree: str
    changed: bool
    ref: str
    """The file with the agent's result, relative to the run."""


class StartedMerge(NamedTuple):
    """A merge into the repository that was started; see `PlannedMerge`."""

    head: str | None
    ours: str
    tree: str


DataT = TypeVar("DataT", Delivery, StartedMerge)


class EffectAttempts(Struct, frozen=True):
    """The recorded attempts at an unresolved effect."""

    attempts: int = 0
    """How often it was started."""
    question: str | None = None
    """The question that the user must answer first."""
    may_retry: bool = False
    """Whether the user has asked for another attempt since the last one."""
    delivery: Delivery | None = None
    """Work that is finished and only has to be merged."""
    started_merge: StartedMerge | None = None
    """The merge of that work, if it was started."""


def read(state: State) -> dict[str, EffectAttempts]:
    """Return the attempts at pending effects, by effect id."""
    attempts: dict[str, EffectAttempts] = {}
    for entry in state.notes:
        if entry.type not in _STEPS:
            continue
        effect_id = text_field(entry, "effectId")
        if effect_id in state.position.pending:
            attempts[effect_id] = _STEPS[entry.type](attempts.get(effect_id, EffectAttempts()), entry)
    return attempts


def started_data(effect: Effect, attempt: int) -> dict[str, object]:
    return {"effectId": effect.effect_id, "attempt": attempt, "kind": effect.kind}


def doubt_question(run_id: str, effect: Effect) -> str:
    """Return the question about an effect that was interrupted with its driver."""
    name = effect.label or effect.task_id
    return (
        f"the {effect.kind} effect {name!r} was interrupted with its driver, and may have taken effect."
        " Answer `again` to execute it again, or post its result with:"
        f" bridle task:post {run_id} {effect.effect_id} --status ok --value FILE"
    )


def _started(attempts: EffectAttempts, _entry: Entry) -> EffectAttempts:
    return EffectAttempts(attempts.attempts + 1)


def _doubt(attempts: EffectAttempts, entry: Entry) -> EffectAttempts:
    return replace(attempts, question=text_field(entry, "question"), may_retry=False)


def _again(attempts: EffectAttempts, _entry: Entry) -> EffectAttempts:
    return replace(attempts, question=None, may_retry=True)


def _delivered(attempts: EffectAttempts, entry: Entry) -> EffectAttempts:
    return replace(attempts, delivery=_decode(entry, Delivery))


def _joining(attempts: EffectAttempts, entry: Entry) -> EffectAttempts:
    return replace(attempts, started_merge=_decode(entry, StartedMerge))


def _decode(entry: Entry, record: type[DataT]) -> DataT:
    """Return the data of an entry; raise JournalBroken if a field is missing."""
    data: Any = entry.data
    try:
        return record(*(data[name] for name in record._fields))
    except KeyError as error:
        raise broken(entry, f"has no {error.args[0]}") from error


_STEPS = {STARTED: _started, DOUBT: _doubt, AGAIN: _again, DELIVERED: _delivered, JOINING: _joining}

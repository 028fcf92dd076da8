"""What a driver has begun: noted in the journal before anything is done, so that a crash leaves no doubt.

| type | data | when |
|---|---|---|
| BRIDLE_EFFECT_STARTED | effectId, attempt, kind, [worktree, base] | before an effect is performed |
| BRIDLE_EFFECT_DOUBT | effectId, attempt, question | it was under way when its driver died, and may not be done twice unasked |
| BRIDLE_EFFECT_AGAIN | effectId, respondedBy | a person, or a policy, says that it is to be done again |
"""

from __future__ import annotations

from dataclasses import dataclass

from bridle.engine.effects import AGENT, SKILL
from bridle.journal.entries import Effect
from bridle.journal.state import State

STARTED = "BRIDLE_EFFECT_STARTED"
DOUBT = "BRIDLE_EFFECT_DOUBT"
AGAIN = "BRIDLE_EFFECT_AGAIN"

# An agent starts afresh each time and finds what an earlier one left; a command may have done its work already.
REPEATABLE_KINDS = frozenset({AGENT, SKILL})


@dataclass(frozen=True)
class UnderWay:
    """An effect that somebody has begun and nobody has resolved."""

    attempts: int = 0
    """How often it was begun."""
    question: str | None = None
    """What a person must decide first."""
    worktree: str | None = None
    """The working copy of the last attempt, where it had one of its own."""
    base: str | None = None
    """The commit that it began with."""
    may_repeat: bool = False
    """Whether somebody said since the last attempt that it is to be done again."""


def read(state: State) -> dict[str, UnderWay]:
    """The effects that were begun and still wait, by their id."""
    found: dict[str, UnderWay] = {}
    for entry in state.notes:
        effect_id = entry.data.get("effectId")
        if not isinstance(effect_id, str) or effect_id not in state.standing.pending:
            continue
        known = found.get(effect_id, UnderWay())
        if entry.type == STARTED:
            found[effect_id] = UnderWay(
                known.attempts + 1, None, _text(entry.data.get("worktree")), _text(entry.data.get("base"))
            )
        elif entry.type == DOUBT:
            question = _text(entry.data.get("question"))
            found[effect_id] = UnderWay(known.attempts, question, known.worktree, known.base)
        elif entry.type == AGAIN:
            found[effect_id] = UnderWay(known.attempts, None, known.worktree, known.base, may_repeat=True)
    return found


def may_repeat(effect: Effect, task: dict[str, object], known: UnderWay) -> bool:
    """Whether an effect that was under way may be done again without asking anybody."""
    return known.may_repeat or effect.kind in REPEATABLE_KINDS or task.get("idempotent") is True


def question(effect: Effect) -> str:
    """What a person is asked about an effect whose driver died."""
    name = effect.label or effect.task_id
    return (
        f"{effect.kind} effect {name!r} was under way when its driver ended, and may have done its work already."
        " Answer `again` to do it once more, or post its result with task:post."
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None

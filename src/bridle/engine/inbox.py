"""What waits for a person: breakpoints, and effects that were under way when a driver died. And the answers to them.

Nothing is approved by silence, by an empty answer, or by one that can be read both ways.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bridle.engine.entries import effect_attempts
from bridle.engine.process.effects import BREAKPOINT
from bridle.errors import EffectResolved, UsageError
from bridle.ground import clock
from bridle.journal.format.entries import OK, Effect, Posted
from bridle.journal.stores.post_rules import not_found
from bridle.journal.stores.store import Store

OWNER = "answer"
BY_PERSON = "human"
BY_POLICY = "policy"
DOUBT = "doubt"
# What the payload of a breakpoint says where a yes or a no would be no answer.
ASKS_FOR = "asksFor"
WORDS = "words"

APPROVES = frozenset({"approve", "approved", "yes", "y", "ok", "okay", "accept", "accepted", "ship it", "lgtm", "go"})
REJECTS = frozenset({"reject", "rejected", "no", "n", "deny", "denied", "refuse", "refused", "stop", "cancel"})
AGAIN = frozenset({"again", "do it again", "retry", "repeat"})


@dataclass(frozen=True)
class Question:
    """One thing that a person is asked."""

    effect_id: str
    kind: str
    """`breakpoint`, or `doubt` for an effect that was under way."""
    label: str | None
    text: str
    options: tuple[str, ...] = ()
    payload: Any = None

    @property
    def wants_words(self) -> bool:
        """Whether any words answer it, and not only a yes or a no."""
        return isinstance(self.payload, Mapping) and self.payload.get(ASKS_FOR) == WORDS

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        shown = {"effectId": self.effect_id, "kind": self.kind, "label": self.label, "question": self.text}
        return shown | {"options": list(self.options), "payload": self.payload}


def questions(store: Store) -> list[Question]:
    """Everything that waits for a person, oldest first."""
    state = store.state()
    begun = effect_attempts.read(state)
    found: list[Question] = []
    for effect_id in state.standing.pending:
        effect = state.effects[effect_id]
        known = begun.get(effect_id)
        if effect.kind == BREAKPOINT:
            found.append(breakpoint_question(effect, store.task(effect_id)))
        elif known is not None and known.question is not None:
            found.append(doubt(effect, known.question))
    return found


def answer(
    store: Store, effect_id: str, text: str, *, approved: bool | None = None, by: str = BY_PERSON
) -> dict[str, Any]:
    """Take a person's answer; the words are kept as they were given. UsageError where it cannot be one."""
    state = store.state()
    effect = state.effects.get(effect_id)
    if effect is None:
        raise not_found(effect_id)
    if not effect.is_pending:
        raise EffectResolved(f"effect {effect_id} has its answer already", remedy="bridle task:show tells which.")
    if effect.kind == BREAKPOINT:
        value = reply(text, breakpoint_question(effect, store.task(effect_id)), approved=approved, by=by)
        _post(store, effect_id, value)
        return value
    known = effect_attempts.read(state).get(effect_id)
    if known is None or known.question is None:
        raise UsageError(
            f"effect {effect_id} is of kind {effect.kind} and asks nobody",
            remedy="Post its result: bridle task:post RUN EFFECT --status ok --value-inline JSON",
        )
    if _plain(text) not in AGAIN:
        raise UsageError(f"{text!r} is no answer to: {known.question}", remedy="Answer `again`, or use task:post.")
    with store.write(OWNER) as writer:
        writer.append(effect_attempts.AGAIN, {"effectId": effect_id, "respondedBy": by})
    return {"again": True, "respondedBy": by}


def reply(text: str, question: Question, *, approved: bool | None, by: str) -> dict[str, Any]:
    """The value of a breakpoint for an answer; what could mean either is refused."""
    if question.wants_words and approved is None:
        if not text.strip():
            raise UsageError("an empty answer says nothing", remedy="Say what the agent needs to know.")
        return {"approved": True, "response": text, "respondedBy": by}
    option = next((one for one in question.options if _plain(one) == _plain(text)), None)
    said = _meaning(text)
    if approved is not None and said is not None and approved != said:
        raise UsageError(f"{text!r} says one thing and the flag another", remedy="Leave one of them out.")
    meant = said if approved is None else approved
    if meant is None and option is None:
        what = f"{text!r} is neither a yes nor a no" if text.strip() else "an empty answer decides nothing"
        raise UsageError(what, remedy="Add --approve or --reject; your words are kept with it either way.")
    value: dict[str, Any] = {"approved": meant is True, "response": text, "respondedBy": by}
    if option is not None:
        value["option"] = option
    if not value["approved"] and text.strip():
        value["feedback"] = text
    return value


def breakpoint_question(effect: Effect, task: Mapping[str, Any]) -> Question:
    """What a breakpoint asks."""
    payload = _payload(task)
    text, options = effect.label or BREAKPOINT, tuple[str, ...]()
    if isinstance(payload, Mapping):
        text = str(payload.get("question") or payload.get("title") or text)
        given = payload.get("options")
        options = tuple(_option(one) for one in given) if isinstance(given, (list, tuple)) else ()
    elif isinstance(payload, str) and payload:
        text = payload
    return Question(effect.effect_id, BREAKPOINT, effect.label, text, options, payload)


def doubt(effect: Effect, text: str) -> Question:
    """What is asked about an effect that was under way."""
    return Question(effect.effect_id, DOUBT, effect.label, text, ("again",))


def _meaning(text: str) -> bool | None:
    plain = _plain(text)
    return True if plain in APPROVES else False if plain in REJECTS else None


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip(" .!\t\n").lower()


def _payload(task: Mapping[str, Any]) -> Any:
    """What a process gave the breakpoint, wherever the format keeps it."""
    for name in ("metadata", "breakpoint"):
        section = task.get(name)
        if isinstance(section, Mapping) and section.get("payload") is not None:
            return section["payload"]
    return None


def _option(value: object) -> str:
    if isinstance(value, Mapping):
        return str(value.get("label") or value.get("value") or value)
    return str(value)


def _post(store: Store, effect_id: str, value: dict[str, Any]) -> None:
    stamp = clock.iso(clock.now())
    with store.write(OWNER) as writer:
        writer.resolve(effect_id, Posted(OK, value=value, started_at=stamp, finished_at=stamp))

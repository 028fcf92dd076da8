"""Questions for the user (breakpoints and interrupted effects) and their answers.

Silence, an empty answer or an ambiguous one never approves.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from msgspec import Struct

from bridle.engine.entries import effect_attempts
from bridle.engine.process.effects import BREAKPOINT, breakpoint_payload
from bridle.errors import EffectResolved, UsageError
from bridle.ground import clock
from bridle.ground.json_fields import JsonFields
from bridle.journal.format.documents import TaskDocument
from bridle.journal.format.entries import OK, Effect, Entry, Posted
from bridle.journal.stores.post_rules import is_blank, not_found
from bridle.journal.stores.store import Store

OWNER = "answer"
BY_USER = "human"
BY_POLICY = "policy"
DOUBT = "doubt"
# The payload field of a breakpoint that asks for free text instead of a yes or no.
ASKS_FOR = "asksFor"
FREE_TEXT = "words"

APPROVES = frozenset({"approve", "approved", "yes", "y", "ok", "okay", "accept", "accepted", "ship it", "lgtm", "go"})
REJECTS = frozenset({"reject", "rejected", "no", "n", "deny", "denied", "refuse", "refused", "stop", "cancel"})
AGAIN = frozenset({"again", "do it again", "retry", "repeat"})


class Question(Struct, frozen=True):
    """One question for the user."""

    effect_id: str
    kind: str
    """`breakpoint`, or `doubt` for an interrupted effect."""
    label: str | None
    text: str
    options: tuple[str, ...] = ()
    payload: Any = None

    @property
    def takes_free_text(self) -> bool:
        """Return whether any text is an answer, not only a yes or no."""
        return JsonFields(self.payload).text(ASKS_FOR) == FREE_TEXT

    @property
    def task(self) -> str | None:
        """Return the title of the task that asks, if the process names one."""
        return JsonFields(self.payload).text("task")

    def as_json(self) -> dict[str, Any]:
        fields = {"effectId": self.effect_id, "kind": self.kind, "label": self.label, "question": self.text}
        return fields | {"task": self.task, "options": list(self.options), "payload": self.payload}


def questions(store: Store) -> list[Question]:
    """Return all questions for the user, the oldest first."""
    state = store.state()
    attempts = effect_attempts.read(state)
    pending: list[Question] = []
    for effect_id in state.position.pending:
        effect = state.effects[effect_id]
        known = attempts.get(effect_id)
        if effect.kind == BREAKPOINT:
            pending.append(breakpoint_question(effect, store.task(effect)))
        elif known is not None and known.question is not None:
            pending.append(doubt(effect, known.question))
    return pending


class Answered(NamedTuple):
    """A recorded answer."""

    value: dict[str, Any]
    resolution: Entry | None
    """The entry that resolves the breakpoint; None if an interrupted effect is executed again."""


def answer(
    store: Store, effect_id: str, text: str | None, *, approved: bool | None = None, by: str = BY_USER
) -> Answered:
    """Record the user's answer verbatim; raise a UsageError for an invalid one."""
    value = check_answer(store, effect_id, text, approved=approved, by=by)
    is_breakpoint = store.state().effects[effect_id].kind == BREAKPOINT
    with store.write(OWNER) as writer:
        if not is_breakpoint:
            writer.append(effect_attempts.AGAIN, {"effectId": effect_id, "respondedBy": by})
            return Answered(value, None)
        stamp = clock.iso(clock.now())
        return Answered(value, writer.resolve(effect_id, Posted(OK, value=value, started_at=stamp, finished_at=stamp)))


def check_answer(
    store: Store, effect_id: str, text: str | None, *, approved: bool | None = None, by: str = BY_USER
) -> dict[str, Any]:
    """Return the value that an answer has; raise a UsageError for an invalid one. Nothing is recorded."""
    state = store.state()
    effect = state.effects.get(effect_id)
    if effect is None:
        raise not_found(effect_id)
    if not effect.is_pending:
        remedy = f"bridle task:show {store.metadata().run_id} {effect_id} prints its result."
        raise EffectResolved(f"effect {effect_id} is already resolved", remedy=remedy)
    if effect.kind == BREAKPOINT:
        return breakpoint_value(text, breakpoint_question(effect, store.task(effect)), approved=approved, by=by)
    known = effect_attempts.read(state).get(effect_id)
    if known is None or known.question is None:
        raise UsageError(
            f"effect {effect_id} of kind {effect.kind} is not a question",
            remedy=f"Post its result: bridle task:post {store.metadata().run_id} {effect_id} --status ok --value FILE",
        )
    if _normalise(text or "") not in AGAIN:
        raise UsageError(f"the answer must be `again`, got {text!r}. The question: {known.question}")
    return {"again": True, "respondedBy": by}


def breakpoint_value(given: str | None, question: Question, *, approved: bool | None, by: str) -> dict[str, Any]:
    """Return the value of a breakpoint for an answer; raise a UsageError for an ambiguous one."""
    text = given or ""
    if question.takes_free_text and approved is None:
        if is_blank(text):
            raise UsageError("the answer must not be empty", remedy="Write what the agent needs to know.")
        return {"approved": True, "response": text, "respondedBy": by}
    option = next((option for option in question.options if _normalise(option) == _normalise(text)), None)
    answer = _normalise(text)
    meaning = True if answer in APPROVES else False if answer in REJECTS else None
    if approved is not None and meaning is not None and approved != meaning:
        raise UsageError(f"the answer {text!r} contradicts the flag", remedy="Omit one of them.")
    decision = meaning if approved is None else approved
    if decision is None and option is None:
        raise UsageError(
            f"the answer must be a yes or a no, got {text!r}",
            remedy="Add --approve or --reject; your text is recorded with it.",
        )
    if decision and given is not None and is_blank(given):
        raise UsageError(
            "an empty response does not approve", remedy="Write an answer, or pass --approve without a text."
        )
    # A flag without a text is the answer itself; an empty text would not approve.
    response = given if given is not None else "approve" if approved else "reject"
    value: dict[str, Any] = {"approved": decision is True, "response": response, "respondedBy": by}
    if option is not None:
        value["option"] = option
    if not value["approved"] and text.strip():
        value["feedback"] = text
    return value


def breakpoint_question(effect: Effect, task: TaskDocument) -> Question:
    payload = breakpoint_payload(task)
    fields = JsonFields(payload)
    text = payload if isinstance(payload, str) else fields.first("question", "title")
    values = fields.value("options")
    options = tuple(map(_option, values)) if isinstance(values, (list, tuple)) else ()
    return Question(
        effect.effect_id, BREAKPOINT, effect.label, str(text or effect.label or BREAKPOINT), options, payload
    )


def doubt(effect: Effect, text: str) -> Question:
    """Return the question about an interrupted effect."""
    return Question(effect.effect_id, DOUBT, effect.label, text, ("again",))


def _normalise(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip(" .!\t\n").lower()


def _option(value: object) -> str:
    return str(JsonFields(value).first("label", "value") or value)

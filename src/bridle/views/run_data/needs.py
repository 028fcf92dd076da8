"""What a run needs from the user: answers, decisions after failures, other limits; with the commands that do it."""

from __future__ import annotations

import shlex

from bridle.engine import inbox
from bridle.loop import effects
from bridle.loop.control import pauses
from bridle.loop.control.run_state import LIMIT, state_and_reason
from bridle.loop.process.receipt import Receipt
from bridle.loop.process.task_state import UNSUCCESSFUL
from bridle.views.run_data.conversation_pages import seconds_of
from bridle.views.run_data.run_card import RunFacts
from bridle.wire.events.loose_json import JsonObject
from bridle.wire.mask import Mask

QUESTION, PERMISSION, FAILURE, LIMIT_REACHED, DOUBT = "question", "permission", "failure", "limit", "doubt"


def needs_of(facts: RunFacts, mask: Mask) -> list[JsonObject]:
    """Return what a run needs from the user, the oldest question first."""
    needs = [_question(facts, question) for question in inbox.questions(facts.store)]
    if facts.driver is None and facts.receipt is not None:
        needs += _limits(facts) + _failures(facts, facts.receipt)
    masked: list[JsonObject] = mask.apply_to_json(needs)
    return masked


def _question(facts: RunFacts, question: inbox.Question) -> JsonObject:
    run, effect = facts.run.name, question.effect_id
    payload = question.payload
    task = payload.get("task") if isinstance(payload, dict) else None
    if question.kind == inbox.DOUBT:
        kind, commands = DOUBT, [f"bridle answer {effect} again {run}"]
    elif question.takes_free_text:
        kind, commands = QUESTION, [f"bridle answer {effect} 'your answer' {run}"]
    else:
        kind = PERMISSION
        commands = [f"bridle answer {effect} --{word} {shlex.quote(str(facts.run))}" for word in ("approve", "reject")]
    asked = facts.state.effects[effect].request.recorded_at
    return {
        "run": run,
        "kind": kind,
        "effect": effect,
        "task": task if isinstance(task, str) else None,
        "title": question.label or facts.title,
        "text": question.text,
        "options": list(question.options),
        "takes_free_text": question.takes_free_text,
        "payload": payload,
        "commands": commands,
        "since": seconds_of(asked),
    }


def _limits(facts: RunFacts) -> list[JsonObject]:
    state, reason = state_and_reason(facts)
    paused = pauses.pending_pause(facts.store)
    is_unusable = paused is not None and paused.why in (effects.WHY_UNUSABLE, effects.WHY_SETUP)
    if state != LIMIT and not is_unusable:
        return []
    run = facts.run.name
    kind = LIMIT_REACHED if state == LIMIT else FAILURE
    return [_need(facts, kind, facts.title, reason or "the run is paused", [f"bridle resume {run}"])]


def _failures(facts: RunFacts, receipt: Receipt) -> list[JsonObject]:
    run = facts.run.name
    return [
        _need(
            facts,
            FAILURE,
            task.title,
            task.reason,
            [f"bridle retry {shlex.quote(task.title)} {run} --resume"],
            task.title,
        )
        for task in receipt.tasks
        if task.verdict in UNSUCCESSFUL
    ]


def _need(
    facts: RunFacts, kind: str, title: str, text: str, commands: list[str], task: str | None = None
) -> JsonObject:
    last = facts.state.last
    return {
        "run": facts.run.name,
        "kind": kind,
        "effect": None,
        "task": task,
        "title": title,
        "text": text,
        "options": [],
        "takes_free_text": False,
        "payload": None,
        "commands": commands,
        "since": None if last is None else seconds_of(last.recorded_at),
    }

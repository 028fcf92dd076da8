"""What one iteration found: where the run stands now, and what is to be done next."""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from bridle.engine.process.effects import BREAKPOINT, SLEEP, WAITING_KINDS
from bridle.errors import EffectFailed
from bridle.journal.format.entries import Effect
from bridle.journal.format.state import State
from bridle.journal.stores.store import Store

EXECUTED = "executed"
WAITING = "waiting"
COMPLETED = "completed"
FAILED = "failed"
HALTED = "halted"
NONE = "none"

NOT_JSON = "what the process returned cannot be written as JSON"

# What is kept of a traceback: the calls around the error. The whole of a deep recursion helps nobody.
STACK_FRAMES = 20

ENGINE = os.path.dirname(os.path.dirname(__file__))
"""The folder of the engine layer: its own frames are left out of a traceback."""

_ACTIONS = {EXECUTED: "executed-tasks", WAITING: "waiting"}
# The id of a group of effects that can be performed side by side is this long.
_GROUP_DIGITS = 16


class Action(NamedTuple):
    """One effect that waits to be performed, as the format describes it."""

    effect: Effect
    task: Mapping[str, Any]
    """What its task.json says."""
    pending_count: int
    group: str | None

    def as_json(self) -> dict[str, Any]:
        """The item of `nextActions`; what is not known is left out."""
        data = self.effect.request.data
        hints = {
            "pendingCount": self.pending_count,
            "parallelGroupId": self.group,
            "sleepUntilEpochMs": self.sleep_until_ms,
        }
        item = {
            "effectId": self.effect.effect_id,
            "invocationKey": self.effect.key,
            "kind": self.effect.kind,
            "label": self.effect.label,
            "labels": data.get("labels"),
            "taskDef": dict(self.task),
            "taskId": self.effect.task_id,
            "stepId": self.effect.step_id,
            "taskDefRef": data.get("taskDefRef"),
            "inputsRef": data.get("inputsRef"),
            "requestedAt": self.effect.request.recorded_at,
            "schedulerHints": _present(hints),
        }
        return _present(item)

    @property
    def sleep_until_ms(self) -> int | None:
        """When a sleep ends, in milliseconds since 1970."""
        section = self.task.get("sleep")
        return section.get("targetEpochMs") if isinstance(section, Mapping) else None


class Iteration(NamedTuple):
    """The answer of `run:iterate`."""

    run_id: str
    process_id: str
    number: int
    """Counts the iterations that changed something, this one included."""
    status: str
    """`executed`, `waiting`, `completed`, `failed`, `halted` or `none`."""
    reason: str
    actions: tuple[Action, ...] = ()
    completion_proof: str | None = None
    output: Any = None
    """What a completed process returned."""
    error: Mapping[str, Any] | None = None
    """What ended a failed one: name, message, stack."""
    halt: Mapping[str, Any] | None = None
    """Why a halted one was halted: reason, and what was given with it."""
    remarks: tuple[str, ...] = ()
    """Words for people: errors in the process that nobody awaited, and the like."""
    hook_status: str = "skipped"

    @property
    def until_ms(self) -> int | None:
        """When the first of the pending sleeps ends."""
        ends = (action.sleep_until_ms for action in self.actions)
        return min((end for end in ends if end is not None), default=None)

    def summary(self) -> dict[str, Any]:
        """What the end of an iteration is told as."""
        told = {
            "iteration": self.number,
            "status": self.status,
            "action": _ACTIONS.get(self.status, "none"),
            "reason": self.reason,
            "count": len(self.actions) or None,
        }
        return _present(told)

    def lines(self) -> list[str]:
        """The same for people: where the run stands, then each effect that waits."""
        lines = [" ".join(f"{name}={value}" for name, value in self.summary().items())]
        lines += [f"- {one.effect.effect_id} [{one.effect.kind}] {one.effect.label or ''}" for one in self.actions]
        if self.completion_proof is not None:
            lines.append(f"completionProof={self.completion_proof}")
        if self.halt is not None:
            lines.append(f"halt={self.halt['reason']}")
        if self.error is not None:
            lines.append(f"error={self.error['name']}: {self.error['message']}")
        return lines

    def as_json(self) -> dict[str, Any]:
        """The document that the command prints."""
        document = {
            "iteration": self.number,
            "iterationCount": self.number,
            "status": self.status,
            "action": _ACTIONS.get(self.status, "none"),
            "reason": self.reason,
            "count": len(self.actions) or None,
            "until": self.until_ms if self.status == WAITING else None,
            "completionProof": self.completion_proof,
            "error": self.error,
            "halt": self.halt,
            "nextActions": [action.as_json() for action in self.actions] or None,
            "remarks": list(self.remarks) or None,
        }
        metadata = {"runId": self.run_id, "processId": self.process_id, "hookStatus": self.hook_status}
        return _present(document) | {"metadata": metadata}


def next_actions(store: Store, pending: Iterable[Effect]) -> tuple[Action, ...]:
    """The effects that wait, with their tasks."""
    effects = list(pending)
    group = _group(effects)
    return tuple(Action(effect, store.task(effect.effect_id), len(effects), group) for effect in effects)


def standing(actions: Iterable[Action]) -> tuple[str, str]:
    """The status and the reason of a run that waits for these effects."""
    kinds = sorted({action.effect.kind for action in actions})
    if not kinds:
        return NONE, "nothing-pending"
    if set(kinds) - WAITING_KINDS:
        return EXECUTED, "auto-runnable-tasks"
    if len(kinds) > 1:
        return WAITING, f"mixed-pending:{','.join(kinds)}"
    return WAITING, {BREAKPOINT: "breakpoint-waiting", SLEEP: "sleep-waiting"}[kinds[0]]


def number(state: State) -> int:
    """How many iterations changed the run, with the one that takes in what came in since the last."""
    has_news = not state.effects or len(state.resolved) > state.resolved_before
    return state.rounds + has_news


def told(error: BaseException) -> dict[str, Any]:
    """An error of a process as the journal keeps it."""
    name, message = type(error).__name__, str(error)
    more: dict[str, Any] = {}
    if isinstance(error, EffectFailed):
        name, message = error.name, error.message
        more = {} if error.data is None else {"data": error.data}
    frames = traceback.extract_tb(error.__traceback__)[-STACK_FRAMES:]
    own = [frame for frame in frames if not frame.filename.startswith(ENGINE)]
    stack = "".join([*traceback.format_list(own), f"{name}: {message}"])
    return {"name": name, "message": message, "stack": stack} | more


def is_same_error(one: object, other: Mapping[str, Any]) -> bool:
    """Whether two kept errors say the same."""
    return isinstance(one, Mapping) and all(one.get(part) == other.get(part) for part in ("name", "message"))


def _group(effects: list[Effect]) -> str | None:
    """The format's id for effects that wait together."""
    if len(effects) < 2:
        return None
    from hashlib import sha1  # brings a cryptographic library along, which a run of single steps does not need

    keys = "".join(f"{effect.key}|" for effect in effects)
    return sha1(keys.encode(), usedforsecurity=False).hexdigest()[:_GROUP_DIGITS]


def _present(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}

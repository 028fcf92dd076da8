"""The report of one iteration: the status of the run and its pending effects."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from bridle.engine.process.effects import BREAKPOINT, SLEEP, WAITING_KINDS
from bridle.engine.replay import json_values
from bridle.engine.replay.json_values import without_addresses
from bridle.errors import BadTask, EffectFailed
from bridle.ground.json_fields import JsonFields
from bridle.journal.format.codec import BadText
from bridle.journal.format.documents import TaskDocument
from bridle.journal.format.entries import Effect
from bridle.journal.format.input_values import TooDeep, check_value, shown
from bridle.journal.format.state import State
from bridle.journal.stores.store import Store

EXECUTED = "executed"
WAITING = "waiting"
COMPLETED = "completed"
FAILED = "failed"
HALTED = "halted"
NONE = "none"

NOT_JSON = "what the process returned cannot be written as JSON"

# The innermost frames of a traceback are kept; a whole deep recursion is of no use.
STACK_FRAMES = 20

ENGINE = os.path.dirname(os.path.dirname(__file__))
"""The folder of the engine layer, whose frames are left out of tracebacks."""

_ACTIONS = {EXECUTED: "executed-tasks", WAITING: "waiting"}
# The length of the id of a parallel group.
_GROUP_DIGITS = 16


class Failure(NamedTuple):
    """The error of a failed process, as the journal records it."""

    name: str
    message: str
    stack: str = ""
    data: Any = None
    """The data of a posted error."""
    errors: tuple[Failure, ...] = ()
    """The errors in a group, such as those of a TaskGroup."""

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        """Return the failure of a process that raised this; a process may raise anything."""
        name, message, data = type(error).__name__, _text_of(error), None
        if isinstance(error, EffectFailed):
            name, message, data = str(error.name), str(error.message), _as_json(error.data)
        frames = traceback.extract_tb(error.__traceback__)[-STACK_FRAMES:]
        process_frames = [frame for frame in frames if not frame.filename.startswith(ENGINE)]
        stack = "".join([*traceback.format_list(process_frames), f"{name}: {message}"])
        errors = tuple(cls.of(inner) for inner in error.exceptions) if isinstance(error, BaseExceptionGroup) else ()
        return cls(name, message, stack, data, errors)

    @classmethod
    def from_json(cls, value: object) -> Failure:
        fields = JsonFields(value)
        return cls(str(fields.value("name")), str(fields.value("message")))

    def as_json(self) -> dict[str, Any]:
        errors = [error.as_json() for error in self.errors] or None
        return _present({**self._asdict(), "errors": errors})

    def is_same(self, other: Failure) -> bool:
        """Return whether the name and the message are the same, except for addresses of objects."""
        return self.name == other.name and without_addresses(self.message) == without_addresses(other.message)

    def __str__(self) -> str:
        inner = "; ".join(map(str, self.errors))
        return f"{self.name}: {self.message}" + (f" [{inner}]" if inner else "")


class Action(NamedTuple):
    """One pending effect."""

    effect: Effect
    task: TaskDocument
    pending_count: int
    group: str | None

    def as_listed(self) -> dict[str, Any]:
        """Return the item of `effects`: what is pending, in short."""
        effect = self.effect
        return {"effectId": effect.effect_id, "kind": effect.kind, "status": effect.status, "label": effect.label}

    def as_json(self) -> dict[str, Any]:
        """Return the item of `nextActions`, without unknown fields."""
        request = JsonFields(self.effect.request.data)
        hints = {
            "pendingCount": self.pending_count,
            "parallelGroupId": self.group,
            "sleepUntilEpochMs": self.task.sleep_until_ms,
        }
        item = {
            "effectId": self.effect.effect_id,
            "invocationKey": self.effect.key,
            "kind": self.effect.kind,
            "label": self.effect.label,
            "labels": request.value("labels"),
            "taskDef": self.task.printed(),
            "taskId": self.effect.task_id,
            "stepId": self.effect.step_id,
            "taskDefRef": request.value("taskDefRef"),
            "inputsRef": request.value("inputsRef"),
            "requestedAt": self.effect.request.recorded_at,
            "schedulerHints": _present(hints),
        }
        return _present(item)


class Iteration(NamedTuple):
    """The report of `run:iterate`."""

    run_id: str
    process_id: str
    number: int
    """The number of iterations that changed the run, including this one."""
    status: str
    """`executed`, `waiting`, `completed`, `failed`, `halted` or `none`."""
    reason: str
    actions: tuple[Action, ...] = ()
    completion_proof: str | None = None
    output: Any = None
    """The return value of a completed process."""
    failure: Failure | None = None
    """The error of a failed process."""
    halt: Mapping[str, Any] | None = None
    """The reason and payload of a halted run."""
    warnings: tuple[str, ...] = ()
    """Messages for the user, such as errors of tasks that the process did not await."""
    hook_status: str = "skipped"
    report_state: Callable[[], Any] | None = None
    """The function by which the process reports about itself, until the next iteration; None once the run has ended
    otherwise. A state may list all that a long run has done, and is built only where it is read."""

    @property
    def process_state(self) -> Any:
        """Return what the process reports about itself now, else None."""
        return None if self.report_state is None else self.report_state()

    @property
    def until_ms(self) -> int | None:
        """Return when the first of the pending sleeps ends."""
        ends = (action.task.sleep_until_ms for action in self.actions)
        return min((end for end in ends if end is not None), default=None)

    def summary(self) -> dict[str, Any]:
        """Return the payload of the hook at the end of an iteration."""
        fields = {
            "iteration": self.number,
            "status": self.status,
            "action": _ACTIONS.get(self.status, "none"),
            "reason": self.reason,
            "count": len(self.actions) or None,
        }
        return _present(fields)

    def lines(self) -> list[str]:
        """Return the report as text: the status, then each pending effect."""
        lines = [" ".join(f"{name}={value}" for name, value in self.summary().items())]
        lines += [f"- {effect.effect_id} [{effect.kind}] {effect.label or ''}" for effect, *_ in self.actions]
        if self.completion_proof is not None:
            lines.append(f"completionProof={self.completion_proof}")
        if self.halt is not None:
            lines.append(f"halt={self.halt['reason']}")
        if self.failure is not None:
            lines.append(f"error={self.failure}")
        return lines

    def as_json(self) -> dict[str, Any]:
        """Return the JSON document of the command."""
        document = {
            "iteration": self.number,
            "iterationCount": self.number,
            "status": self.status,
            "action": _ACTIONS.get(self.status, "none"),
            "reason": self.reason,
            "count": len(self.actions) or None,
            "until": self.until_ms if self.status == WAITING else None,
            "completionProof": self.completion_proof,
            "error": None if self.failure is None else self.failure.as_json(),
            "halt": self.halt,
            "effects": [action.as_listed() for action in self.actions] or None,
            "nextActions": [action.as_json() for action in self.actions] or None,
            "remarks": list(self.warnings) or None,
        }
        metadata = {"runId": self.run_id, "processId": self.process_id, "hookStatus": self.hook_status}
        return _present(document) | {"metadata": metadata}


def check_depth(value: object) -> None:
    """Raise TooDeep if the value of a process is nested deeper than other values may be."""
    try:
        check_value(value)
    except TooDeep:
        raise
    except BadText:
        pass  # keys that are not text become text when they are written


def next_actions(store: Store, pending: Iterable[Effect]) -> tuple[Action, ...]:
    """Return the pending effects with their tasks."""
    effects = list(pending)
    group = _group(effects)
    return tuple(Action(effect, store.task(effect), len(effects), group) for effect in effects)


def waiting_status(actions: Iterable[Action]) -> tuple[str, str]:
    """Return the status and the reason of a run that waits for these effects."""
    kinds = sorted({action.effect.kind for action in actions})
    if not kinds:
        return NONE, "nothing-pending"
    if set(kinds) - WAITING_KINDS:
        return EXECUTED, "auto-runnable-tasks"
    if len(kinds) > 1:
        return WAITING, f"mixed-pending:{','.join(kinds)}"
    return WAITING, {BREAKPOINT: "breakpoint-waiting", SLEEP: "sleep-waiting"}[kinds[0]]


def iteration_number(state: State, *, ends_sleep: bool = False) -> int:
    """Return the number of iterations that changed the run, including one that delivers results or ends a sleep."""
    has_new_results = not state.effects or len(state.resolved) > state.resolved_before
    return state.rounds + (has_new_results or ends_sleep)


def _text_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as fault:  # noqa: BLE001  # a class of the process
        return f"its text cannot be shown: {type(fault).__name__} in __str__"


def _as_json(data: Any) -> Any:
    """Return the data of an error; as text if a process has raised it with data that is not JSON."""
    try:
        return json_values.clean_copy(data, ("the data of", "an error"))
    except BadTask:
        return shown(data)


def _group(effects: list[Effect]) -> str | None:
    """Return the id by the format for effects that can run in parallel."""
    if len(effects) < 2:
        return None
    from hashlib import sha1  # imports a cryptographic library, which sequential runs do not need

    keys = "".join(f"{effect.key}|" for effect in effects)
    return sha1(keys.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()[:_GROUP_DIGITS]


def _present(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}

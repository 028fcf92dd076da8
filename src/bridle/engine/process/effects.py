"""The effects that a process can request without defining a task: breakpoints, sleeps, orchestrator tasks.

Names and shapes are those of the format. The inputs of an effect never contain the time, so that a replay requests the
same; the time of the request is in the definition.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from bridle.engine.process.define_task import Definition, TaskContext
from bridle.errors import BadTask, EffectFailed
from bridle.ground import clock
from bridle.ground.json_fields import JsonFields
from bridle.journal.format import entries
from bridle.journal.format.documents import TaskDocument
from bridle.journal.format.entries import Effect
from bridle.journal.format.input_values import shown

AGENT = "agent"
SHELL = "shell"
PYTHON = "python"
NODE = "node"
SKILL = "skill"
BREAKPOINT = entries.BREAKPOINT
SLEEP = entries.SLEEP
ORCHESTRATOR_TASK = "orchestrator_task"

WAITING_KINDS = frozenset({BREAKPOINT, SLEEP})
"""Kinds without a performer: the user answers, or time passes."""

BREAKPOINT_TASK = "__sdk.breakpoint"
SLEEP_TASK = "__sdk.sleep"
ORCHESTRATOR_TASK_TASK = "__sdk.orchestratorTask"

NO_MESSAGE = "the effect failed without a message"

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# The year 9999.
_LAST_MS = 253_402_300_800_000


class EffectRequest(NamedTuple):
    """The request of one step of a process."""

    task_id: str
    inputs: Any
    label: str | None
    define: Callable[[TaskContext], Definition]
    """Returns the definition; called only if the effect is not recorded."""
    sleep: SleepTarget | None = None
    identity: Callable[[Any], Any] | None = None
    """Returns the part of the arguments that a replay compares; None compares all of them."""


class SleepTarget(NamedTuple):
    """The time at which a sleep ends."""

    epoch_ms: int
    exact: datetime | None = None
    """The time as the process gave it, if it has fractions of a millisecond."""

    @property
    def iso(self) -> str:
        """Return the time as ISO text."""
        return clock.iso(self._in_ms)

    @property
    def moment(self) -> datetime:
        """Return the time, not rounded."""
        return self._in_ms if self.exact is None else self.exact

    @property
    def _in_ms(self) -> datetime:
        return _EPOCH + timedelta(milliseconds=self.epoch_ms)

    def has_passed_at(self, effect: Effect) -> bool:
        """Return whether the sleep of a resolved effect ended at its time, and was not posted earlier."""
        finished = None if effect.resolution is None else effect.resolution.text("finishedAt")
        try:
            return finished is not None and datetime.fromisoformat(finished) >= self._in_ms
        except (ValueError, TypeError):  # not written by Bridle
            return False

    def as_json(self) -> Definition:
        """Return the time as in the definition and the inputs of a sleep."""
        return {"iso": self.iso, "targetEpochMs": self.epoch_ms}


def sleep_target(until: object) -> SleepTarget:
    """Parse the argument of `ctx.sleep_until`: an aware datetime, ISO text, or milliseconds since 1970."""
    target = SleepTarget(_epoch_ms(until), _exact(until))
    try:
        has_iso = bool(target.iso)
    except (OverflowError, ValueError):
        has_iso = False
    if target.epoch_ms < 0 or not has_iso:
        raise _bad_target(until, "the year must be from 1970 to 9999")
    return target


def breakpoint_request(
    payload: Any, *, label: str | None, options: Mapping[str, object], now: datetime
) -> EffectRequest:
    name = label or JsonFields(payload).text("label") or BREAKPOINT
    inputs = {"payload": payload, "label": name} | {key: value for key, value in options.items() if value is not None}
    metadata = inputs | {"requestedAt": clock.iso(now)}
    return EffectRequest(
        BREAKPOINT_TASK, inputs, name, lambda _task: {"kind": BREAKPOINT, "title": name, "metadata": metadata}
    )


def sleep_request(target: SleepTarget, *, label: str | None) -> EffectRequest:
    name, time = label or f"sleep:{target.iso}", target.as_json()
    definition = {"kind": SLEEP, "title": name, "sleep": time, "metadata": time}
    return EffectRequest(SLEEP_TASK, time, name, lambda _task: definition, target)


def orchestrator_request(payload: Any, *, label: str | None) -> EffectRequest:
    inputs = {"payload": payload} | ({"label": label} if label else {})
    metadata = {"payload": payload, "orchestratorTask": True}
    title = label or ORCHESTRATOR_TASK
    definition = {"kind": ORCHESTRATOR_TASK, "title": title, "metadata": metadata}
    return EffectRequest(ORCHESTRATOR_TASK_TASK, inputs, label, lambda _task: definition)


def defined_sleep(definition: Mapping[str, object]) -> SleepTarget | None:
    """Return when a task of kind `sleep` ends; None for other tasks, and for one that has no time."""
    until_ms = TaskDocument(definition).sleep_until_ms if definition.get("kind") == SLEEP else None
    return None if until_ms is None else SleepTarget(until_ms)


def breakpoint_payload(task: TaskDocument) -> Any:
    """Return the payload of a breakpoint: `ctx.breakpoint` and `breakpoint_task` have different sections for it."""
    definition = JsonFields(task.document)
    payload = definition.fields("metadata").value("payload")
    return definition.fields("breakpoint").value("payload") if payload is None else payload


def effect_failure(error: Mapping[str, object] | None) -> EffectFailed:
    """Return the exception for a posted error."""
    fields, message = JsonFields(error), JsonFields(error).value("message")
    return EffectFailed(
        message if isinstance(message, str) else NO_MESSAGE,
        name=fields.text("name") or "Error",
        data=fields.value("data"),
        payload=dict(error or {}),
    )


def _epoch_ms(until: object) -> int:
    if isinstance(until, str):
        try:
            until = datetime.fromisoformat(until)
        except ValueError:
            raise _bad_target(until, "it is not an ISO 8601 date") from None
    if isinstance(until, datetime):
        if until.tzinfo is None:
            raise _bad_target(until.isoformat(), "it has no time zone")
        return (until - _EPOCH) // timedelta(milliseconds=1)
    if isinstance(until, (int, float)) and not isinstance(until, bool) and until == until and abs(until) < 1e18:
        return int(until)
    raise _bad_target(until, f"its type is {type(until).__name__}")


def _exact(until: object) -> datetime | None:
    """Return a valid sleep target with its fractions of a millisecond; None if it has none."""
    if isinstance(until, float) and abs(until) < _LAST_MS:
        return _EPOCH + timedelta(milliseconds=until)
    time = datetime.fromisoformat(until) if isinstance(until, str) else until
    return time.astimezone(UTC) if isinstance(time, datetime) and time.microsecond % 1000 else None


def _bad_target(until: object, fault: str) -> BadTask:
    return BadTask(
        f"invalid sleep target {shown(until)}: {fault}",
        remedy="Give an aware datetime (ctx.now() + timedelta(…)), ISO text with a zone, or milliseconds since 1970.",
    )

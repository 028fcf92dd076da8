"""The effects that a process can ask for without defining a task: breakpoints, sleeps, orchestrator tasks.

Names and shapes are the format's. What an effect is asked for with (its inputs) never holds a clock reading, so that
a replay asks for the very same; the moment of the request stands in the definition.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from bridle.engine.process.define_task import Definition, TaskContext
from bridle.errors import BadTask, EffectFailed
from bridle.ground import clock

AGENT = "agent"
SHELL = "shell"
PYTHON = "python"
NODE = "node"
SKILL = "skill"
BREAKPOINT = "breakpoint"
SLEEP = "sleep"
ORCHESTRATOR_TASK = "orchestrator_task"

WAITING_KINDS = frozenset({BREAKPOINT, SLEEP})
"""Kinds that nobody performs: a person answers, or time passes."""

BREAKPOINT_TASK = "__sdk.breakpoint"
SLEEP_TASK = "__sdk.sleep"
ORCHESTRATOR_TASK_TASK = "__sdk.orchestratorTask"

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class EffectRequest(NamedTuple):
    """One thing that a process asks for at a step."""

    task_id: str
    inputs: Any
    label: str | None
    define: Callable[[TaskContext], Definition]
    """Gives the definition; called only if nothing is recorded."""
    sleep: SleepTarget | None = None
    identity: Callable[[Any], Any] | None = None
    """Return the part of the arguments that a replay compares; None: all of them."""


class SleepTarget(NamedTuple):
    """The moment at which a sleep ends."""

    epoch_ms: int

    @property
    def iso(self) -> str:
        """The moment as text."""
        return clock.iso(_EPOCH + timedelta(milliseconds=self.epoch_ms))

    def as_json(self) -> Definition:
        """As the definition and the inputs of a sleep hold it."""
        return {"iso": self.iso, "targetEpochMs": self.epoch_ms}


def sleep_target(until: object) -> SleepTarget:
    """Read what `ctx.sleep_until` was given: an aware datetime, ISO text, or milliseconds since 1970."""
    target = SleepTarget(_epoch_ms(until))
    try:
        has_iso = bool(target.iso)
    except (OverflowError, ValueError):
        has_iso = False
    if target.epoch_ms < 0 or not has_iso:
        raise _bad_target(until, "it lies outside of the years 1970 to 9999")
    return target


def breakpoint_wish(payload: Any, *, label: str | None, options: Mapping[str, object], now: datetime) -> EffectRequest:
    """A question to a person."""
    own = payload.get("label") if isinstance(payload, Mapping) else None
    name = label or (own if isinstance(own, str) and own else None) or BREAKPOINT
    shown = {"payload": payload, "label": name} | {key: value for key, value in options.items() if value is not None}
    stamped = shown | {"requestedAt": clock.iso(now)}
    return EffectRequest(
        BREAKPOINT_TASK, shown, name, lambda _task: {"kind": BREAKPOINT, "title": name, "metadata": stamped}
    )


def sleep_wish(target: SleepTarget, *, label: str | None) -> EffectRequest:
    """A pause until a moment."""
    name, when = label or f"sleep:{target.iso}", target.as_json()
    definition = {"kind": SLEEP, "title": name, "sleep": when, "metadata": when}
    return EffectRequest(SLEEP_TASK, when, name, lambda _task: definition, target)


def orchestrator_wish(payload: Any, *, label: str | None) -> EffectRequest:
    """Something for whoever drives the run."""
    inputs = {"payload": payload} | ({"label": label} if label else {})
    metadata = {"payload": payload, "orchestratorTask": True}
    title = label or ORCHESTRATOR_TASK
    definition = {"kind": ORCHESTRATOR_TASK, "title": title, "metadata": metadata}
    return EffectRequest(ORCHESTRATOR_TASK_TASK, inputs, label, lambda _task: definition)


def failure(error: Mapping[str, object] | None) -> EffectFailed:
    """The exception for an error that was posted."""
    given = error or {}
    name, message = given.get("name"), given.get("message")
    return EffectFailed(
        message if isinstance(message, str) else "the effect failed and nobody said why",
        name=name if isinstance(name, str) and name else "Error",
        data=given.get("data"),
        payload=dict(given),
    )


def _epoch_ms(until: object) -> int:
    if isinstance(until, str):
        try:
            until = datetime.fromisoformat(until)
        except ValueError:
            raise _bad_target(until, "it is no date that ISO 8601 knows") from None
    if isinstance(until, datetime):
        if until.tzinfo is None:
            raise _bad_target(until.isoformat(), "it does not say in which time zone")
        return (until - _EPOCH) // timedelta(milliseconds=1)
    if isinstance(until, (int, float)) and not isinstance(until, bool) and until == until and abs(until) < 1e18:
        return int(until)
    raise _bad_target(until, f"it is {type(until).__name__}")


def _bad_target(until: object, fault: str) -> BadTask:
    return BadTask(
        f"invalid sleep target {until!r}: {fault}",
        remedy="Give an aware datetime (ctx.now() + timedelta(…)), ISO text with a zone, or milliseconds since 1970.",
    )

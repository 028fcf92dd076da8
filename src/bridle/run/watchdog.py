"""The watchdogs: when a run has taken too long, been silent too long, or outstayed its result. Pure: time is given."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from bridle.run.request import Limits
from bridle.wire.record.record import Record


class Bite(StrEnum):
    """Which watchdog struck."""

    RUN = "run"
    IDLE = "idle"
    TOOL_IDLE = "tool-idle"
    AFTER_RESULT = "after-result"
    LEAVING = "leaving"
    """It closed its output without a result, and stayed."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """The next moment at which a watchdog would strike, and which one."""

    at: float
    bite: Bite
    seconds: float
    """The limit, for the words to a person."""


@dataclass(frozen=True, slots=True)
class Clock:
    """The moments that the watchdogs look at, in one monotonic clock."""

    started: float
    last_byte: float
    done: float | None = None
    """When the agent had nothing more to do: its result is there, its stdin is closed, no new turn has begun."""


def next_deadline(clock: Clock, limits: Limits, record: Record) -> Deadline:
    """The watchdog that would strike first, if nothing more is heard."""
    run = Deadline(clock.started + limits.run_seconds, Bite.RUN, limits.run_seconds)
    return min(run, _silence(clock, limits, record), key=lambda deadline: deadline.at)


def _silence(clock: Clock, limits: Limits, record: Record) -> Deadline:
    # A call that a finished turn left without an answer is not at work; a background task may be.
    if record.open_tasks or (record.open_tools and clock.done is None):
        seconds = limits.tool_idle_seconds
        return Deadline(clock.last_byte + seconds, Bite.TOOL_IDLE, seconds)
    if clock.done is not None:
        seconds = limits.after_result_seconds
        return Deadline(max(clock.done, clock.last_byte) + seconds, Bite.AFTER_RESULT, seconds)
    return Deadline(clock.last_byte + limits.idle_seconds, Bite.IDLE, limits.idle_seconds)

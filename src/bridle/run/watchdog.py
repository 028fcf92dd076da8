"""Compute when a run has taken too long, been silent too long, or not exited after its result. Pure."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from bridle.run.request import Limits
from bridle.wire.record.record import Record


class Watchdog(StrEnum):
    """The limit that was reached."""

    RUN = "run"
    IDLE = "idle"
    TOOL_IDLE = "tool-idle"
    AFTER_RESULT = "after-result"
    LEAVING = "leaving"
    """The agent closed its output without a result and did not exit."""


class Deadline(Struct, frozen=True):
    """The next limit to be reached, and when."""

    at: float
    watchdog: Watchdog
    seconds: float
    """The length of the limit, for messages."""


class RunTimes(Struct, frozen=True):
    """The times that limits are measured from, by one monotonic clock."""

    started: float
    last_byte: float
    done: float | None = None
    """When the agent was finished: it had printed its result, its stdin was closed, no new turn had begun."""


def next_deadline(clock: RunTimes, limits: Limits, record: Record) -> Deadline:
    """Return the limit that is reached first if the agent prints nothing more."""
    run = Deadline(clock.started + limits.run_seconds, Watchdog.RUN, limits.run_seconds)
    return min(run, _silence(clock, limits, record), key=lambda deadline: deadline.at)


def _silence(clock: RunTimes, limits: Limits, record: Record) -> Deadline:
    # A tool call that a finished turn left without a result is not running; a background task may be.
    if record.open_tasks or (record.open_tools and clock.done is None):
        seconds = limits.tool_idle_seconds
        return Deadline(clock.last_byte + seconds, Watchdog.TOOL_IDLE, seconds)
    if clock.done is not None:
        seconds = limits.after_result_seconds
        return Deadline(max(clock.done, clock.last_byte) + seconds, Watchdog.AFTER_RESULT, seconds)
    return Deadline(clock.last_byte + limits.idle_seconds, Watchdog.IDLE, limits.idle_seconds)

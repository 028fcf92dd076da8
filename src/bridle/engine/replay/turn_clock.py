"""The clock of a process: one recorded reading between two results."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from bridle.engine.entries import notes
from bridle.engine.replay.new_requests import NewEntry
from bridle.engine.replay.recorded import Recording
from bridle.ground import clock

START = "start"
"""The name of the turn before the first result."""


def after_step(step_id: str) -> str:
    """Return the name of the turn that begins with the result of a step."""
    return f"step:{step_id}"


def after_hook(hook_id: str) -> str:
    """Return the name of the turn that begins with the result of a hook."""
    return f"hook:{hook_id}"


class TurnClock:
    """The time that `ctx.now()` returns: read once in a turn, which begins with the delivery of a result."""

    def __init__(self, recording: Recording, now: Callable[[], datetime]) -> None:
        self._recording = recording
        self._now = now
        self._turn = 0
        self._after = START
        self._not_before: datetime | None = None

    def begin_turn(self, after: str) -> None:
        """Begin a turn; `after_step` and `after_hook` name it."""
        self._turn += 1
        self._after = after

    def resume_turn(self, after: str) -> None:
        """Begin the turn after a result that was delivered before it was requested, and counted then."""
        self._after = after

    def has_reading(self, after: str) -> bool:
        """Return whether the clock was read in that turn."""
        return after in self._recording.clock

    def pass_moment(self, moment: datetime) -> None:
        """Make every later reading at least this time: a sleep until it has passed."""
        self._not_before = moment if self._not_before is None else max(moment, self._not_before)

    def read(self) -> tuple[datetime, NewEntry | None]:
        """Return the recorded time of this turn; else the present time, with the entry that records it."""
        recorded = self._recording.clock.get(self._after)
        if recorded is None:
            # Runs of earlier versions number the turns, and a sleep that has passed does not move their clock.
            numbered = self._recording.numbered_clock.get(self._turn)
            if numbered is not None:
                return _parse(numbered), None
        new = None
        if recorded is None:
            recorded = self._recording.clock[self._after] = clock.iso(self._now())
            new = NewEntry(notes.CLOCK_READ, {"turn": self._turn, "after": self._after, "now": recorded})
        reading = _parse(recorded)
        return reading if self._not_before is None else max(reading, self._not_before), new


def _parse(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)

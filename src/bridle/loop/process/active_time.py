"""How long a run was driven: the time in which a driver executed or awaited effects. Pure.

Each result records when its driver began and when the effect was finished. The time from one finish to the next counts,
but never more than since the later one's driver began: a night without a driver does not count. All of it comes from
the journal, so a replay counts the same.
"""

from __future__ import annotations

from datetime import datetime

from bridle.loop.effect_results import Clock


class ActiveTime:
    """The sum so far."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._last: datetime | None = None

    def add(self, clock: Clock | None) -> None:
        """Count a finished effect; one without a clock is covered by the next one that has it."""
        if clock is None:
            return
        since, until = datetime.fromisoformat(clock.since), datetime.fromisoformat(clock.until)
        begin = since if self._last is None else max(since, self._last)
        self.seconds += max(0.0, (until - begin).total_seconds())
        self._last = until if self._last is None else max(until, self._last)

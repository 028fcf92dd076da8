"""How long a run was driven: the time in which a driver executed or awaited effects. Pure.

Each result records how long its driver had run, in seconds of a clock that cannot be set, and how long earlier drivers
ran that recorded no result at their end. The time of a run is the sum of the longest time of each driver. All of it
comes from the journal, so a replay counts the same.

Results of earlier versions have only readings of the system clock. The time from one finish to the next counts, but
never more than since the later one's driver began: a night without a driver does not count.
"""

from __future__ import annotations

from datetime import datetime

from bridle.loop.effect_results import Clock


class ActiveTime:
    """The time so far."""

    def __init__(self) -> None:
        self.drivers: dict[str, float] = {}
        """The seconds of each driver, by its id."""
        self._system_seconds = 0.0
        self._last: datetime | None = None

    @property
    def seconds(self) -> float:
        """The seconds of all drivers."""
        return self._system_seconds + sum(self.drivers.values())

    def add(self, clock: Clock | None) -> None:
        """Count a finished effect; one without a clock is covered by the next one that has it."""
        if clock is None:
            return
        if clock.driver is None or clock.seconds is None:
            self._add_system_time(datetime.fromisoformat(clock.since), datetime.fromisoformat(clock.until))
            return
        for driver, seconds in (*clock.earlier.items(), (clock.driver, clock.seconds)):
            self.drivers[driver] = max(self.drivers.get(driver, 0.0), seconds)

    def _add_system_time(self, since: datetime, until: datetime) -> None:
        begin = since if self._last is None else max(since, self._last)
        self._system_seconds += max(0.0, (until - begin).total_seconds())
        self._last = until if self._last is None else max(until, self._last)

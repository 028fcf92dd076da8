"""The time of one driver, by a clock that cannot be set; each result and each agent's log records it."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from bridle.ground import clock, ids
from bridle.loop.effect_results import Clock


class DriverTime(Struct, frozen=True):
    """When a driver began, and how long earlier drivers ran."""

    earlier: Mapping[str, float] = field(default_factory=dict)
    """The seconds of earlier drivers that no result has recorded, by id."""
    driver: str = field(default_factory=ids.new_id)
    since: str = field(default_factory=lambda: clock.iso(clock.now()))
    _began: float = field(default_factory=clock.monotonic)

    @property
    def seconds(self) -> float:
        """How long the driver has run."""
        return round(clock.monotonic() - self._began, 3)

    def read(self) -> Clock:
        """Return the reading for a result."""
        return Clock(
            since=self.since,
            until=clock.iso(clock.now()),
            driver=self.driver,
            seconds=self.seconds,
            earlier=dict(self.earlier),
        )

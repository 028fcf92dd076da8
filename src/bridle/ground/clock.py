"""The system clock. Pure modules receive the time as an argument and do not import this."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta, tzinfo


def now() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)


def local_zone() -> tzinfo:
    """Return the local time zone."""
    return datetime.now().astimezone().tzinfo or UTC


def monotonic() -> float:
    """Return the seconds of a clock that cannot be set, and that stops while the machine is suspended."""
    return time.monotonic()


def since_boot() -> float:
    """Return the seconds of a clock that cannot be set, and that continues while the machine is suspended."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class SteadyClock:
    """The system clock as read once, and from then on advanced by a clock that cannot be set.

    A wait that is measured with it ends at its time, even if the system clock is set before that.
    """

    __slots__ = ("_began", "_boot")

    def __init__(self, *, not_before: datetime | None = None) -> None:
        """With `not_before`, an earlier reading counts as that moment: the clock was set back since."""
        self._began = now() if not_before is None else max(now(), not_before)
        self._boot = since_boot()

    def now(self) -> datetime:
        """Return the current time in UTC."""
        return self._began + timedelta(seconds=since_boot() - self._boot)


def stamp(moment: datetime) -> str:
    """Format a time for a file name, sortable: `20261115T024655.123Z`."""
    moment = moment.astimezone(UTC)
    return f"{moment:%Y%m%dT%H%M%S}.{moment.microsecond // 1000:03d}Z"


def iso(moment: datetime) -> str:
    """Format a time as ISO 8601: `2026-11-15T02:46:55.123Z`."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

"""Readings of the clock. Pure layers receive them as arguments and never look at it themselves."""

from __future__ import annotations

import time
from datetime import UTC, datetime, tzinfo


def now() -> datetime:
    """Tell the present moment, in UTC and aware of it."""
    return datetime.now(UTC)


def local_zone() -> tzinfo:
    """The zone of the person's own clock, as it is now."""
    return datetime.now().astimezone().tzinfo or UTC


def monotonic() -> float:
    """Tell seconds on a clock that never jumps; only differences mean something."""
    return time.monotonic()


def stamp(moment: datetime) -> str:
    """Write a moment so that it fits a file name and sorts by time: `20261115T024655.123Z`."""
    moment = moment.astimezone(UTC)
    return f"{moment:%Y%m%dT%H%M%S}.{moment.microsecond // 1000:03d}Z"


def iso(moment: datetime) -> str:
    """Write a moment for people and programs: `2026-11-15T02:46:55.123Z`."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

"""The system clock. Pure modules receive the time as an argument and do not import this."""

from __future__ import annotations

import time
from datetime import UTC, datetime, tzinfo


def now() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)


def local_zone() -> tzinfo:
    """Return the local time zone."""
    return datetime.now().astimezone().tzinfo or UTC


def monotonic() -> float:
    """Return the seconds of a monotonic clock."""
    return time.monotonic()


def stamp(moment: datetime) -> str:
    """Format a time for a file name, sortable: `20261115T024655.123Z`."""
    moment = moment.astimezone(UTC)
    return f"{moment:%Y%m%dT%H%M%S}.{moment.microsecond // 1000:03d}Z"


def iso(moment: datetime) -> str:
    """Format a time as ISO 8601: `2026-11-15T02:46:55.123Z`."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

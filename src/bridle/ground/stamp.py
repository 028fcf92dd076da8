"""Moments as text without `datetime`, whose import costs more than a hook's whole arithmetic."""

from __future__ import annotations

import time


def iso(nanoseconds: int) -> str:
    """A moment since the epoch, in UTC with milliseconds: `2026-11-15T02:46:55.123Z`."""
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    moment = time.gmtime(seconds)
    day = f"{moment.tm_year:04d}-{moment.tm_mon:02d}-{moment.tm_mday:02d}"
    clock = f"{moment.tm_hour:02d}:{moment.tm_min:02d}:{moment.tm_sec:02d}"
    return f"{day}T{clock}.{rest // 1_000_000:03d}Z"

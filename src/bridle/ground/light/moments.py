"""Times as text without `datetime`, which is slow to import."""

from __future__ import annotations

import time


def iso(nanoseconds: int) -> str:
    """Format nanoseconds since the epoch: `2026-11-15T02:46:55.123Z`."""
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    moment = time.gmtime(seconds)
    day = f"{moment.tm_year:04d}-{moment.tm_mon:02d}-{moment.tm_mday:02d}"
    clock = f"{moment.tm_hour:02d}:{moment.tm_min:02d}:{moment.tm_sec:02d}"
    return f"{day}T{clock}.{rest // 1_000_000:03d}Z"


def epoch_seconds(text: str) -> int | None:
    """Parse `2026-11-15T02:46:55Z` to seconds since the epoch; return None for any other form."""
    day, _, clock = text.removesuffix("Z").partition("T")
    numbers = [*day.split("-"), *clock.partition(".")[0].split(":")]
    if not text.endswith("Z") or len(numbers) != 6 or not all(_is_number(number) for number in numbers):
        return None
    year, month, date, hour, minute, second = map(int, numbers)
    if not (year >= 1970 and 1 <= month <= 12 and 1 <= date <= 31 and hour < 24 and minute < 60 and second < 61):
        return None
    return _days(year, month, date) * 86_400 + hour * 3600 + minute * 60 + second


def _is_number(text: str) -> bool:
    return 2 <= len(text) <= 4 and text.isascii() and text.isdigit()


def _days(year: int, month: int, date: int) -> int:
    """Return days since the epoch; a year starts in March here, so that the leap day is its last."""
    months = (month + 9) % 12
    year -= month <= 2
    return year * 365 + year // 4 - year // 100 + year // 400 + (months * 153 + 2) // 5 + date - 1 - 719_468

"""Lengths of time as people write them: seconds, or `90s`, `15m`, `8h`, `2d`, `1h30m`."""

from __future__ import annotations

import re

_UNIT_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PART = r"\d+(?:\.\d+)?"
_DURATION = re.compile(rf"(?:{_PART}\s*[smhd]\s*)+|{_PART}", re.IGNORECASE | re.ASCII)
# A hundred years: longer than any run, and short enough for every clock and calendar.
_LONGEST_SECONDS = 100 * 365 * 86400.0


def parse_duration(text: str) -> float:
    """The seconds; ValueError, in words for a person, where it is no length of time above nothing."""
    given = text.strip()
    if not _DURATION.fullmatch(given):
        raise ValueError(f"{text!r} is no length of time; write seconds, or 90s, 15m, 8h")
    parts = re.findall(rf"({_PART})\s*([smhd]?)", given.lower())
    return checked_seconds(sum(float(number) * _UNIT_SECONDS[unit or "s"] for number, unit in parts))


def checked_seconds(seconds: float) -> float:
    """The same number; ValueError where nothing could wait that long, or not at all."""
    if not 0 < seconds <= _LONGEST_SECONDS:
        raise ValueError("a length of time must be above 0 and below a hundred years")
    return seconds


def show_duration(seconds: float) -> str:
    """The shortest way to write it: `8h`, `90s`, `1h30m`."""
    whole = int(seconds)
    if whole != seconds or not whole:
        return f"{seconds:g}s"
    if whole % 60 and whole < 120:
        return f"{whole}s"
    parts = []
    for unit in "dhms":
        count, whole = divmod(whole, int(_UNIT_SECONDS[unit]))
        parts += [f"{count}{unit}"] if count else []
    return "".join(parts)

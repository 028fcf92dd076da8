"""Durations as users write them: seconds, or `90s`, `15m`, `8h`, `2d`, `1h30m`."""

from __future__ import annotations

import re

_UNIT_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
# What a value must be, to follow "must be" in a message.
EXPECTED = "a duration above 0, such as 90s, 15m or 8h, or a number of seconds"
_PART = r"\d+(?:\.\d+)?"
_DURATION = rf"(?ia)(?:{_PART}\s*[smhd]\s*)+|{_PART}"
# A hundred years: longer than any run, and short enough for every clock and calendar.
_LONGEST_SECONDS = 100 * 365 * 86400.0


def parse_duration(text: str) -> float:
    """Parse a duration into seconds. Raises ValueError with what was given instead, as "got …"."""
    stripped = text.strip()
    if not re.fullmatch(_DURATION, stripped):
        raise ValueError(f"got {text!r}")
    parts = re.findall(rf"({_PART})\s*([smhd]?)", stripped.lower())
    return checked_seconds(sum(float(number) * _UNIT_SECONDS[unit or "s"] for number, unit in parts))


def checked_seconds(seconds: float) -> float:
    """Return the number unchanged. Raises ValueError unless it is above 0 and at most a hundred years."""
    if not 0 < seconds <= _LONGEST_SECONDS:
        raise ValueError(f"got {seconds:g} seconds" + ("; the longest is 100 years" if seconds > 0 else ""))
    return seconds


def render_duration(seconds: float) -> str:
    """Format seconds in the shortest form that parses back: `8h`, `90s`, `1h30m`."""
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

"""Durations, times and amounts of money as text."""

from __future__ import annotations

from datetime import UTC, datetime

# Smaller amounts are shown in hundredths of a cent: rounded to cents they would read as zero.
_SMALL_USD = 1.0
_UNIT_BYTES = 1024


def format_duration(seconds: object) -> str:
    """Format a duration in its two largest units: `0.3 s`, `42 s`, `3 min 5 s`, `2 h 10 min`."""
    value = float(seconds) if isinstance(seconds, (int, float)) else 0.0
    if value < 10:
        return f"{value:.1f} s"
    whole = int(value)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s" if whole % 60 else f"{whole // 60} min"
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def format_age(seconds: float) -> str:
    """Format how long something is ago in its largest unit: `42 s`, `5 min`, `3 h`, `12 d`."""
    for unit, length in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{int(seconds // length)} {unit}"
    return f"{max(0, int(seconds))} s"


def format_clock(seconds: float) -> str:
    """Format a duration as a running clock: `0:07`, `12:40`, `1:02:03`."""
    whole = max(0, int(seconds))
    hours, rest = divmod(whole, 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}" if hours else f"{rest // 60}:{rest % 60:02}"


def format_time(seconds: float) -> str:
    """Format a Unix time in the local zone, with its day: `Sun 15 Nov 14:00:05 UTC`."""
    try:
        return f"{datetime.fromtimestamp(seconds, UTC).astimezone():%a %d %b %H:%M:%S %Z}"
    except (ValueError, OverflowError, OSError):
        return str(seconds)


def format_usd(usd: float | None, *, known: float = 0.0) -> str:
    """Format an amount: to the cent above a dollar, to a hundredth of a cent below.

    An amount that is not known is `unknown`, or `at least` the known part of it.
    """
    if usd is None:
        return f"at least {format_usd(known)}" if known else "unknown"
    return f"{usd:.2f} USD" if usd >= _SMALL_USD else f"{usd:.4f} USD"


def format_count(number: int, noun: str) -> str:
    """Format a number with its noun: `1 task`, `1,200 lines`, `2 entries`."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


def format_size(size_bytes: float) -> str:
    """Format a size: `70 bytes`, `12.3 KB`, `4.0 MB`."""
    if size_bytes < _UNIT_BYTES:
        return format_count(int(size_bytes), "byte")
    for unit in ("KB", "MB"):
        size_bytes /= _UNIT_BYTES
        if size_bytes < _UNIT_BYTES:
            return f"{size_bytes:.1f} {unit}"
    return f"{size_bytes / _UNIT_BYTES:,.1f} GB"

"""The check that a number printed by an agent can be added, divided and written safely."""

from __future__ import annotations

from typing import Any

# Above everything that an agent can count; far below what a float cannot hold and what Python refuses to convert to
# digits, even after adding many of them.
MAX_PLAUSIBLE = 10**30


def plausible(value: Any) -> Any:
    """Return the number, or None for a non-number, NaN, infinity or an absurd size."""
    return value if isinstance(value, int | float) and -MAX_PLAUSIBLE <= value <= MAX_PLAUSIBLE else None

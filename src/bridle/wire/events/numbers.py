"""Which numbers of an agent are believed: those that can be added, divided and written without a thought."""

from __future__ import annotations

from typing import Any

# Above everything that an agent can count; far below what a float cannot hold and what Python refuses to write in
# digits, whatever is added up.
MAX_PLAUSIBLE = 10**30


def plausible(value: Any) -> Any:
    """The number; None where it is none, or not finite, or absurd."""
    return value if isinstance(value, int | float) and -MAX_PLAUSIBLE <= value <= MAX_PLAUSIBLE else None

"""The limits of a run and their defaults. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

ITERATIONS = 50
TRIES = 5
SECONDS = 8 * 60 * 60.0
COST_USD = 20.0


class Limits(Struct, frozen=True):
    """What a run may use; it stops before a limit is exceeded."""

    max_iterations: int = ITERATIONS
    max_seconds: float = SECONDS
    max_cost_usd: float = COST_USD
    tries: int = TRIES

    def as_json(self) -> dict[str, Any]:
        """Return the JSON for the journal and the receipt."""
        return asdict(self)

    @classmethod
    def from_settings(cls, document: Mapping[str, Any]) -> Limits:
        """Return the limits in the JSON of settings; missing ones have their defaults."""
        return cls().changed({**document, **document["limits"]})

    def changed(self, values: dict[str, Any]) -> Limits:
        """Return the limits with the values that `resume` was given."""
        known = {name: value for name, value in values.items() if name in asdict(self) and value is not None}
        return Limits(**{**asdict(self), **known})

    def describe(self) -> str:
        """Describe the limits for the user, before the start."""
        return (
            f"at most {count_of(self.max_iterations, 'iteration', 'iterations')}, "
            f"{count_of(self.tries, 'try', 'tries')} a task, "
            f"{_time(self.max_seconds)}, {self.max_cost_usd:g} USD"
        )


def _time(seconds: float) -> str:
    """Format seconds in the largest unit that divides them."""
    for size, unit in ((3600, "hour"), (60, "minute")):
        if seconds >= size and seconds % size == 0:
            return count_of(int(seconds // size), unit, f"{unit}s")
    return count_of(seconds, "second", "seconds")


def count_of(number: float, singular: str, plural: str) -> str:
    """Return a number with its noun in the singular or the plural."""
    return f"{number if isinstance(number, int) else f'{number:g}'} {singular if number == 1 else plural}"

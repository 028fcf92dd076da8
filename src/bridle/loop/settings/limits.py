"""The bounds of a run: there is always one, and the run stops before it is passed. Pure."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

ITERATIONS = 50
TRIES = 5
SECONDS = 8 * 60 * 60.0
COST_USD = 20.0


@dataclass(frozen=True)
class Limits:
    """What a run may use."""

    max_iterations: int = ITERATIONS
    max_seconds: float = SECONDS
    max_cost_usd: float = COST_USD
    tries: int = TRIES

    def as_json(self) -> dict[str, Any]:
        """For the journal and the receipt."""
        return asdict(self)

    def changed(self, values: dict[str, Any]) -> Limits:
        """The same with what `resume` was given."""
        known = {name: value for name, value in values.items() if name in asdict(self) and value is not None}
        return Limits(**{**asdict(self), **known})

    def words(self) -> str:
        """For people, before the start."""
        return (
            f"at most {_count(self.max_iterations, 'iteration', 'iterations')}, "
            f"{_count(self.tries, 'try', 'tries')} a task, "
            f"{_time(self.max_seconds)}, {self.max_cost_usd:g} USD"
        )


def _time(seconds: float) -> str:
    """In the largest unit that it is a whole number of."""
    for size, one in ((3600, "hour"), (60, "minute")):
        if seconds >= size and seconds % size == 0:
            return _count(int(seconds // size), one, f"{one}s")
    return f"{seconds:g} {'second' if seconds == 1 else 'seconds'}"


def _count(number: int, one: str, more: str) -> str:
    return f"{number} {one if number == 1 else more}"

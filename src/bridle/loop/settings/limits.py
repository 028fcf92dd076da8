"""The bounds of a run: there is always one, and the run stops before it is passed. Pure."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from bridle.loop.process.task_state import RunState

ITERATIONS = 50
TRIES = 5
SECONDS = 8 * 60 * 60.0
COST_USD = 20.0

# The next iteration is taken to cost what the dearest of the last few did.
_HISTORY = 3


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


def reached(limits: Limits, ledger: RunState, *, elapsed_seconds: float, under_way: int = 0) -> str | None:
    """Why the next iteration must not begin; None where it may. Those under way will cost as much as it does."""
    if ledger.iterations >= limits.max_iterations:
        return f"{limits.max_iterations} iterations are used up"
    if elapsed_seconds >= limits.max_seconds:
        return f"the time is over ({limits.max_seconds:g} seconds)"
    spent = ledger.spent.cost_usd
    if spent >= limits.max_cost_usd:
        return f"{spent:.4f} of {limits.max_cost_usd:g} USD are spent"
    expected = expected_cost(ledger)
    spent += under_way * expected
    if spent + expected > limits.max_cost_usd:
        return (
            f"the next iteration would cost about {expected:.4f} USD, and {limits.max_cost_usd - spent:.4f} of"
            f" {limits.max_cost_usd:g} USD are left"
        )
    return None


def too_late(until: datetime, *, wait_seconds: float, left_seconds: float) -> str:
    """Why a usage limit is not waited for."""
    wait, left = (timedelta(seconds=round(max(0.0, seconds))) for seconds in (wait_seconds, left_seconds))
    return (
        f"the usage limit is lifted at {until.isoformat(timespec='seconds')}, in {wait}, and the run has {left} left;"
        " go on after that"
    )


def expected_cost(ledger: RunState) -> float:
    """What the next iteration will cost, from those of this run."""
    return max(ledger.iteration_costs[-_HISTORY:], default=0.0)


def _time(seconds: float) -> str:
    """In the largest unit that it is a whole number of."""
    for size, one in ((3600, "hour"), (60, "minute")):
        if seconds >= size and seconds % size == 0:
            return _count(int(seconds // size), one, f"{one}s")
    return f"{seconds:g} {'second' if seconds == 1 else 'seconds'}"


def _count(number: int, one: str, more: str) -> str:
    return f"{number} {one if number == 1 else more}"

"""The bounds of a run: there is always one, and the run stops before it is passed. Pure."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from bridle.loop.ledger import Ledger

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
        hours = self.max_seconds / 3600
        return (
            f"at most {_count(self.max_iterations, 'iteration', 'iterations')}, "
            f"{_count(self.tries, 'try', 'tries')} a task, "
            f"{hours:g} {'hour' if hours == 1 else 'hours'}, {self.max_cost_usd:g} USD"
        )


def reached(limits: Limits, ledger: Ledger, *, elapsed_seconds: float, under_way: int = 0) -> str | None:
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


def expected_cost(ledger: Ledger) -> float:
    """What the next iteration will cost, from those of this run."""
    return max(ledger.iteration_costs[-_HISTORY:], default=0.0)


def _count(number: int, one: str, more: str) -> str:
    return f"{number} {one if number == 1 else more}"

"""Whether the next iteration may start within the run's limits. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta

from bridle.loop.process.task_state import RunState
from bridle.loop.settings.limits import Limits, count_of

# The next iteration is expected to cost as much as the most expensive of the last few.
_HISTORY = 3


def limit_reached(
    limits: Limits, state: RunState, *, elapsed_seconds: float, running: int = 0, planned: int = 0
) -> str | None:
    """Return why the next iteration must not start, or None.

    Each of the `running` iterations is expected to cost as much as the next one. `planned` ones are not counted yet.
    """
    if state.iterations + planned >= limits.max_iterations:
        return f"the limit of {count_of(limits.max_iterations, 'iteration', 'iterations')} is reached"
    if elapsed_seconds >= limits.max_seconds:
        return f"the time limit of {count_of(limits.max_seconds, 'second', 'seconds')} is reached"
    spent = state.usage.cost_usd
    if spent >= limits.max_cost_usd:
        return f"the cost limit is reached: {spent:.4f} of {limits.max_cost_usd:g} USD spent"
    expected = expected_cost(state)
    spent += running * expected
    if spent + expected > limits.max_cost_usd:
        return (
            f"the next iteration would exceed the cost limit: it would cost about {expected:.4f} USD, and"
            f" {limits.max_cost_usd - spent:.4f} of {limits.max_cost_usd:g} USD are left"
        )
    return None


def reset_too_late(until: datetime, *, wait_seconds: float, left_seconds: float) -> str:
    """Describe a usage limit that ends after the run's time is over."""
    wait, left = (timedelta(seconds=round(max(0.0, seconds))) for seconds in (wait_seconds, left_seconds))
    return (
        f"the usage limit resets at {until.isoformat(timespec='seconds')}, in {wait}, but the run has only {left} left;"
        " resume it after that"
    )


def expected_cost(state: RunState) -> float:
    """Return what the next iteration will probably cost, from the last ones of this run."""
    return max(state.iteration_costs[-_HISTORY:], default=0.0)

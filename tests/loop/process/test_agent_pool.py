"""Who of the listed agents is asked: the first that is free, and back to it when its limit is lifted."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from bridle.loop.process.agent_pool import AgentPool

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def at(moment: datetime) -> Callable[[], datetime]:
    return lambda: moment


def test_the_next_agent_takes_over_at_a_limit_and_the_first_one_comes_back_when_it_is_lifted() -> None:
    pool = AgentPool(("one", "two"))
    assert pool.available(at(NOON)) == "one"
    pool.limited["one"] = NOON + HOUR
    assert pool.available(at(NOON)) == "two"
    assert pool.available(at(NOON + HOUR)) == "one"


def test_where_all_are_at_their_limit_the_earliest_reset_is_waited_for() -> None:
    pool = AgentPool(("one", "two"))
    pool.limited = {"one": NOON + 5 * HOUR, "two": NOON + HOUR}
    assert pool.available(at(NOON)) is None
    assert pool.next_reset() == NOON + HOUR
    pool.clear_limits(NOON + HOUR)
    assert pool.available(at(NOON)) == "two"  # the wait was cut short: it is asked all the same


def test_an_agent_that_cannot_be_used_is_not_waited_for() -> None:
    pool = AgentPool(("one", "two"))
    pool.unusable["one"] = "not logged in"
    pool.limited = {"one": NOON + HOUR, "two": NOON + 2 * HOUR}
    assert pool.next_reset() == NOON + 2 * HOUR
    pool.unusable["two"] = "not there"
    assert pool.next_reset() is None
    assert pool.available(at(NOON + 9 * HOUR)) is None

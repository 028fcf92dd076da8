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
    roster = AgentPool(("one", "two"))
    assert roster.free(at(NOON)) == "one"
    roster.limited["one"] = NOON + HOUR
    assert roster.free(at(NOON)) == "two"
    assert roster.free(at(NOON + HOUR)) == "one"


def test_where_all_are_at_their_limit_the_earliest_reset_is_waited_for() -> None:
    roster = AgentPool(("one", "two"))
    roster.limited = {"one": NOON + 5 * HOUR, "two": NOON + HOUR}
    assert roster.free(at(NOON)) is None
    assert roster.next_reset() == NOON + HOUR
    roster.lift(NOON + HOUR)
    assert roster.free(at(NOON)) == "two"  # the wait was cut short: it is asked all the same


def test_an_agent_that_cannot_be_used_is_not_waited_for() -> None:
    roster = AgentPool(("one", "two"))
    roster.unusable["one"] = "not logged in"
    roster.limited = {"one": NOON + HOUR, "two": NOON + 2 * HOUR}
    assert roster.next_reset() == NOON + 2 * HOUR
    roster.unusable["two"] = "not there"
    assert roster.next_reset() is None
    assert roster.free(at(NOON + 9 * HOUR)) is None

"""The result of an agent run counts what all of its attempts used, and says where a part is not known."""

from __future__ import annotations

import pytest

from bridle.run.budget import Cost
from bridle.run.finished import Attempted, Finished
from bridle.wire.record.outcome import judge
from bridle.wire.record.record import Record, Tally

REPORTED, COMPUTED, UNKNOWN = Cost(0.5, "agent"), Cost(0.25, "prices"), Cost(None, None)


def finished(last: Cost, *retried: Cost) -> Finished:
    record = Record()
    record.usage.add(Tally(input_tokens=1, output_tokens=2))
    record.results = 1
    attempts = tuple(Attempted(cost, Tally(input_tokens=10, output_tokens=20), 3.0) for cost in retried)
    return Finished(record, judge(record), last, 1 + len(attempts), 4.0, retried=attempts)


@pytest.mark.parametrize(
    ("costs", "total", "known", "source"),
    [
        ((REPORTED,), 0.5, 0.5, "agent"),
        ((REPORTED, COMPUTED), 0.75, 0.75, "prices"),
        ((COMPUTED, REPORTED), 0.75, 0.75, "prices"),
        ((REPORTED, UNKNOWN), None, 0.5, None),
        ((UNKNOWN, COMPUTED), None, 0.25, None),
    ],
)
def test_a_total_is_known_if_every_attempt_is(
    costs: tuple[Cost, ...], total: float | None, known: float, source: str | None
) -> None:
    found = finished(*costs)
    assert (found.total_cost_usd, found.known_cost_usd, found.cost_source) == (total, known, source)


def test_tokens_and_time_are_those_of_all_attempts() -> None:
    found = finished(REPORTED, COMPUTED, UNKNOWN)
    assert (found.total_tokens.input_tokens, found.total_tokens.output_tokens) == (21, 42)
    assert found.total_seconds == 10.0

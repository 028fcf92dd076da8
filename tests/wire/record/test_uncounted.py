"""Messages that a result leaves out, and those that came after it, are counted; what it counts is not counted twice."""

from __future__ import annotations

from typing import Any

import pytest

from bridle.views.terminal.event_lines import status_line
from bridle.views.terminal.outcome_summary import summarize_outcome
from bridle.wire.events.decode import decode_stream
from bridle.wire.record.outcome import Ending, judge
from bridle.wire.record.record import Record, Tally
from bridle.wire.record.recorder import record_events
from bridle.wire.record.report import report_document
from tests.wire.fixtures.stream_lines import Line, assistant_line, encode_lines, init, result

FAILED: dict[str, Any] = {"subtype": "error_during_execution", "is_error": True}


def said(message: str, tokens: int, parent: str | None = None) -> Line:
    usage = {"input_tokens": tokens, "output_tokens": 1}
    return assistant_line("words", id=message, parent=parent, usage=usage)


def counts(tokens: int, cost: float = 0.05, *, main: int | None = None, **fields: Any) -> Line:
    """A result with these tokens: by model those of all threads and turns, in `usage` those of the main one."""
    usage = {"input_tokens": tokens if main is None else main, "output_tokens": 100}
    by_model = {"claude-sonnet-4-5": {"inputTokens": tokens, "outputTokens": 100, "contextWindow": 200_000}}
    return result(**{"total_cost_usd": cost, "usage": usage, "modelUsage": by_model, **fields})


def recorded(*lines: Line) -> Record:
    return record_events(decode_stream([encode_lines(lines)]))


def test_the_message_that_an_interrupted_turn_leaves_out_is_counted() -> None:
    record = recorded(init(), said("a", 10_000), said("a", 10_000), said("b", 20_000), counts(10_000, **FAILED))
    assert (record.uncounted, record.tokens) == (Tally(20_000), Tally(30_000, 100))
    assert (record.reported_cost_usd, record.known_cost_usd) == (None, 0.05)
    outcome = judge(record, Ending(exit_code=1))
    document = report_document(record, outcome)
    assert (document["total_cost_usd"], document["usage_estimate"]["input_tokens"]) == (None, 30_000)
    assert (document["input_tokens"], document["model_usage"]) == (10_000, record.model_usage), "as sent"
    summary = summarize_outcome(record, outcome)
    assert "30000 in, 100 out, partly counted from messages" in summary
    assert "at least 0.0500 USD" in summary
    assert status_line(record).endswith("30000 in, 100 out, context 10%, at least 0.0500 USD")


def test_a_turn_that_was_cut_off_after_the_result_of_another_is_counted() -> None:
    lines = (init(), said("a", 10_000), counts(10_000), init(), said("b", 20_000))
    assert recorded(*lines).uncounted == Tally(20_000, 0)
    assert recorded(*lines, counts(30_000, main=20_000)).uncounted == Tally()
    again = (*lines, counts(10_000, main=0, **FAILED), init(), said("c", 5), counts(10_005, main=5))
    assert recorded(*again).uncounted == Tally(20_000), "no later result counts it"


@pytest.mark.parametrize(
    "lines",
    [
        [said("a", 10_000), said("b", 20_000), counts(30_000, **FAILED)],
        [said("a", 10_000), said("s", 20_000, "toolu_1"), counts(30_000, main=10_000, **FAILED)],
        [said("a", 10_000), counts(10_500, main=10_000, **FAILED)],
        [said("a", 10_000), said("b", 20_000), counts(10_000)],
        [said("a", 10_000), said("b", 20_000), result(**FAILED)],
        [said("a", 10_000), said("b", 20_000), counts(0, **FAILED, modelUsage={"m": 5, "n": {"inputTokens": 10**6}})],
    ],
    ids=["all", "sub-agents", "calls beside messages", "no failure", "not by model", "odd"],
)
def test_nothing_is_counted_twice(lines: list[Line]) -> None:
    record = recorded(init(), *lines)
    assert record.uncounted == Tally()
    assert record.reported_cost_usd == record.total_cost_usd is not None

"""Amp: Claude Code's events; tokens are on the messages, and a failure says why in a field of its own."""

from __future__ import annotations

from typing import Any

import pytest

from bridle.wire.events.decode import decode_stream
from tests.wire.fixtures.dialect_recordings import inspected, read, recorded
from tests.wire.fixtures.stream_lines import assistant_line, failed, init


def test_events_are_those_of_claude_code() -> None:
    data = recorded("amp/tools")
    assert read("amp", data) == list(decode_stream([data]))


def test_tokens_are_estimated_from_the_messages() -> None:
    usage = {"input_tokens": 10, "output_tokens": 3}
    lines = [init(), assistant_line("a", id=None, usage=usage), assistant_line("b", id=None, usage=usage)]
    result = inspected("amp", *lines, {"type": "result", "subtype": "success", "is_error": False, "result": "b"})
    assert (result["input_tokens"], result["total_cost_usd"]) == (0, None)
    assert (result["usage_estimate"]["input_tokens"], result["usage_estimate"]["output_tokens"]) == (20, 6)


def test_a_failed_result_has_its_reason_in_the_error_field() -> None:
    assert inspected("amp", failed(..., error="out of credits"))["error"] == "out of credits"
    assert inspected("amp", failed("in the usual place", error="other"))["error"] == "in the usual place"


@pytest.mark.parametrize("wrong", [None, 5, {}, [], [{"code": 5}]])
def test_an_error_field_without_words_is_not_read(wrong: Any) -> None:
    assert inspected("amp", failed(..., error=wrong))["error"] == "API error (no detail)"

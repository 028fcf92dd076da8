"""Gemini: parts of a message are joined, warnings are no errors, the result says how it went."""

from __future__ import annotations

from typing import Any

import pytest

from bridle.wire.dialects.gemini import Gemini
from bridle.wire.events.events import Assistant, StreamEvent
from bridle.wire.record.outcome import Ending
from tests.wire.fixtures.dialect_recordings import inspected
from tests.wire.fixtures.stream_lines import Line, printed

INIT = {"type": "init", "session_id": "g1", "model": "m"}
OK: Line = {"type": "result", "status": "success", "stats": {"input_tokens": 5, "output_tokens": 2}}


def part(text: Any, **fields: Any) -> Line:
    return {"type": "message", "role": "assistant", "content": text, "delta": True, **fields}


def test_parts_are_joined_without_a_newline_and_messages_with_one() -> None:
    tool = {"type": "tool_use", "tool_name": "ls", "tool_id": "t", "parameters": {}}
    found = inspected("gemini", INIT, part("He"), part("llo"), tool, part("Bye"), OK)
    assert (found["output"], found["final_text"], found["degraded"]) == ("Hello\nBye", "Bye", False)


def test_a_message_without_delta_stands_alone() -> None:
    found = inspected("gemini", part("one", delta=False), part("two", delta="true"), part("thr"), part("ee"), OK)
    assert found["output"] == "one\ntwo\nthree"


def test_parts_are_seen_at_once_and_the_whole_when_it_is_over() -> None:
    gemini = Gemini()
    first = gemini.feed(printed([part("He")]))
    assert [type(event) for event in first] == [StreamEvent, StreamEvent]
    assert [type(event) for event in gemini.feed(printed([part("llo")]))] == [StreamEvent]
    (whole,) = gemini.end()
    assert isinstance(whole, Assistant)
    assert gemini.end() == []


def test_the_end_of_the_stream_ends_the_last_message() -> None:
    found = inspected("gemini", INIT, part("He"), part("llo"), ending=Ending(exit_code=0))
    assert (found["output"], found["results"], found["degraded"]) == ("Hello", 0, True)


@pytest.mark.parametrize("between", ["noise", "[1]", '{"type":"novel"}', '{"type":"error","severity":"warning"}'])
def test_what_is_no_message_does_not_break_a_message_apart(between: str) -> None:
    assert inspected("gemini", part("He"), between, part("llo"), OK)["output"] == "Hello"


def test_the_user_s_own_message_is_not_part_of_the_answer() -> None:
    user = {"type": "message", "role": "user", "content": "question"}
    assert inspected("gemini", INIT, user, part("answer"), OK)["output"] == "answer"


def test_an_error_line_is_a_warning_when_the_result_went_well() -> None:
    severe = {"type": "error", "severity": "error", "message": "Maximum session turns exceeded"}
    found = inspected("gemini", INIT, severe, part("x"), OK)
    assert (found["error"], found["warnings"]) == (None, ["Maximum session turns exceeded"])


def test_an_error_line_explains_a_result_without_a_message_and_a_stream_without_a_result() -> None:
    severe = {"type": "error", "severity": "error", "message": "it broke"}
    assert inspected("gemini", severe, {"type": "result", "status": "error"})["error"] == "it broke"
    assert inspected("gemini", severe, ending=Ending(exit_code=1))["error"] == "it broke"
    stopped = inspected("gemini", severe, ending=Ending(exit_code=-9, timed_out=True))
    assert stopped["error_category"] == "timeout"


def test_a_warning_line_alone_is_no_error() -> None:
    found = inspected("gemini", INIT, {"type": "error", "severity": "warning", "message": "careful"})
    assert (found["error"], found["results"]) == (None, 0)


@pytest.mark.parametrize(
    ("error", "message", "category"),
    [
        ({"type": "FatalAuthenticationError", "message": "log in again"}, "log in again", "auth"),
        ({"type": "ApiError", "message": "busy", "code": 429}, "busy", "rate_limit"),
        ({"type": "ApiError", "message": "RESOURCE_EXHAUSTED"}, "RESOURCE_EXHAUSTED", "rate_limit"),
        ({"type": "FatalInputError", "message": "bad", "code": 42}, "bad", "api"),
        ("only words", "only words", "api"),
        (None, "API error (no detail)", "api"),
        ({"message": 5}, "API error (no detail)", "api"),
    ],
)
def test_a_failed_result_says_why(error: Any, message: str, category: str) -> None:
    found = inspected("gemini", INIT, {"type": "result", "status": "error", "error": error})
    assert (found["error"], found["error_category"]) == (message, category)


def test_an_exit_code_in_the_place_of_a_status_is_none() -> None:
    line = {"type": "result", "status": "error", "error": {"message": "x", "code": 42}}
    assert inspected("gemini", line)["api_error_status"] is None
    line = {"type": "result", "status": "error", "error": {"message": "x", "code": 503}}
    assert inspected("gemini", line)["api_error_status"] == 503


@pytest.mark.parametrize("status", ["Error", True, None, "success"])
def test_only_a_clear_error_is_one(status: Any) -> None:
    assert inspected("gemini", part("x"), {"type": "result", "status": status})["error"] is None


def test_a_tool_may_answer_without_output() -> None:
    tool = {"type": "tool_use", "tool_name": "ls", "tool_id": "t", "parameters": []}
    found = inspected("gemini", tool, {"type": "tool_result", "tool_id": "t", "status": "success"}, OK)
    assert (found["tool_uses"], found["tool_results"], found["tool_errors"]) == (1, 1, 0)


@pytest.mark.parametrize(
    "line",
    [
        {"type": "message", "role": "assistant", "content": None, "delta": True},
        {"type": "message", "role": "tool", "content": "x"},
        {"type": "tool_use", "tool_id": "t"},
        {"type": "tool_result", "tool_id": 5},
    ],
)
def test_lines_without_what_makes_them_useful_are_kept_as_unknown(line: Line) -> None:
    found = inspected("gemini", line, part("x"), OK)
    assert (found["unknown_events"], found["output"]) == (1, "x")


def test_cached_tokens_are_part_of_the_input() -> None:
    stats = {"input_tokens": 100, "cached": 60, "input": 40, "output_tokens": 9, "duration_ms": 7}
    found = inspected("gemini", part("x"), {"type": "result", "status": "success", "stats": stats})
    counts = (found["input_tokens"], found["cached_input_tokens"], found["output_tokens"], found["duration_ms"])
    assert counts == (100, 60, 9, 7)

"""Gemini: parts of a message are joined, warnings are no errors, the result says how it went."""

from __future__ import annotations

from typing import Any

import pytest

from bridle.wire.dialects.gemini import Gemini
from bridle.wire.events.events import Assistant, StreamEvent
from bridle.wire.record.outcome import Ending
from tests.wire.fixtures.dialect_recordings import inspected
from tests.wire.fixtures.stream_lines import Line, encode_lines

INIT = {"type": "init", "session_id": "g1", "model": "m"}
OK: Line = {"type": "result", "status": "success", "stats": {"input_tokens": 5, "output_tokens": 2}}


def part(text: Any, **fields: Any) -> Line:
    return {"type": "message", "role": "assistant", "content": text, "delta": True, **fields}


def test_deltas_are_joined_without_a_newline_and_messages_with_one() -> None:
    tool = {"type": "tool_use", "tool_name": "ls", "tool_id": "t", "parameters": {}}
    result = inspected("gemini", INIT, part("He"), part("llo"), tool, part("Bye"), OK)
    assert (result["output"], result["final_text"], result["degraded"]) == ("Hello\nBye", "Bye", False)


def test_a_message_without_delta_is_whole() -> None:
    result = inspected("gemini", part("one", delta=False), part("two", delta="true"), part("thr"), part("ee"), OK)
    assert result["output"] == "one\ntwo\nthree"


def test_deltas_are_events_at_once_and_the_whole_text_follows() -> None:
    gemini = Gemini()
    first = gemini.feed(encode_lines([part("He")]))
    assert [type(event) for event in first] == [StreamEvent, StreamEvent]
    assert [type(event) for event in gemini.feed(encode_lines([part("llo")]))] == [StreamEvent]
    (whole,) = gemini.end()
    assert isinstance(whole, Assistant)
    assert gemini.end() == []


def test_the_end_of_the_stream_ends_the_last_message() -> None:
    result = inspected("gemini", INIT, part("He"), part("llo"), ending=Ending(exit_code=0))
    assert (result["output"], result["results"], result["degraded"]) == ("Hello", 0, True)


@pytest.mark.parametrize("between", ["noise", "[1]", '{"type":"novel"}', '{"type":"error","severity":"warning"}'])
def test_other_lines_do_not_split_a_message(between: str) -> None:
    assert inspected("gemini", part("He"), between, part("llo"), OK)["output"] == "Hello"


def test_the_user_s_own_message_is_not_part_of_the_answer() -> None:
    user = {"type": "message", "role": "user", "content": "question"}
    assert inspected("gemini", INIT, user, part("answer"), OK)["output"] == "answer"


def test_an_error_line_is_a_warning_if_the_result_succeeded() -> None:
    severe = {"type": "error", "severity": "error", "message": "Maximum session turns exceeded"}
    result = inspected("gemini", INIT, severe, part("x"), OK)
    assert (result["error"], result["warnings"]) == (None, ["Maximum session turns exceeded"])


def test_an_error_line_explains_a_result_without_a_message_and_a_stream_without_a_result() -> None:
    severe = {"type": "error", "severity": "error", "message": "it broke"}
    assert inspected("gemini", severe, {"type": "result", "status": "error"})["error"] == "it broke"
    assert inspected("gemini", severe, ending=Ending(exit_code=1))["error"] == "it broke"
    stopped = inspected("gemini", severe, ending=Ending(exit_code=-9, timed_out=True))
    assert stopped["error_category"] == "timeout"


def test_a_warning_line_alone_is_not_an_error() -> None:
    result = inspected("gemini", INIT, {"type": "error", "severity": "warning", "message": "careful"})
    assert (result["error"], result["results"]) == (None, 0)


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
def test_a_failed_result_has_its_reason(error: Any, message: str, category: str) -> None:
    result = inspected("gemini", INIT, {"type": "result", "status": "error", "error": error})
    assert (result["error"], result["error_category"]) == (message, category)


def test_an_exit_code_is_not_an_http_status() -> None:
    line = {"type": "result", "status": "error", "error": {"message": "x", "code": 42}}
    assert inspected("gemini", line)["api_error_status"] is None
    line = {"type": "result", "status": "error", "error": {"message": "x", "code": 503}}
    assert inspected("gemini", line)["api_error_status"] == 503


@pytest.mark.parametrize(
    ("status", "error"),
    [
        ("error", "API error (no detail)"),
        ("cancelled", "the run ended with the status cancelled"),
        (True, None),
        (None, None),
        ("success", None),
    ],
)
def test_every_status_but_success_is_an_error(status: Any, error: str | None) -> None:
    assert inspected("gemini", part("x"), {"type": "result", "status": status})["error"] == error


def test_a_tool_may_answer_without_output() -> None:
    tool = {"type": "tool_use", "tool_name": "ls", "tool_id": "t", "parameters": []}
    result = inspected("gemini", tool, {"type": "tool_result", "tool_id": "t", "status": "success"}, OK)
    assert (result["tool_uses"], result["tool_results"], result["tool_errors"]) == (1, 1, 0)


@pytest.mark.parametrize(
    "line",
    [
        {"type": "message", "role": "assistant", "content": None, "delta": True},
        {"type": "message", "role": "tool", "content": "x"},
        {"type": "tool_use", "tool_id": "t"},
        {"type": "tool_result", "tool_id": 5},
    ],
)
def test_lines_without_their_required_fields_are_kept_as_unknown(line: Line) -> None:
    result = inspected("gemini", line, part("x"), OK)
    assert (result["unknown_events"], result["output"]) == (1, "x")


def test_cached_tokens_are_part_of_the_input() -> None:
    stats = {"input_tokens": 100, "cached": 60, "input": 40, "output_tokens": 9, "duration_ms": 7}
    result = inspected("gemini", part("x"), {"type": "result", "status": "success", "stats": stats})
    counts = (result["input_tokens"], result["cached_input_tokens"], result["output_tokens"], result["duration_ms"])
    assert counts == (100, 60, 9, 7)

"""OpenCode: steps add up, the end of the stream makes the result, an error counts unless the work went on."""

from __future__ import annotations

from typing import Any

import pytest

from bridle.wire.record.outcome import Ending
from tests.wire.fixtures.dialect_recordings import inspected
from tests.wire.fixtures.stream_lines import Line


def line(kind: str, **fields: Any) -> Line:
    return {"type": kind, "timestamp": 1, "sessionID": "ses_1", **fields}


def part(kind: str, **fields: Any) -> Line:
    return line(kind, part=fields)


def error(message: Any, **data: Any) -> Line:
    return line("error", error={"name": "APIError", "data": {"message": message, **data}})


START = part("step_start")
FINISH = part("step_finish", reason="stop", cost=0.25, tokens={"input": 10, "output": 2, "cache": {"read": 3}})


def test_tokens_and_cost_of_all_steps_add_up() -> None:
    result = inspected("opencode", START, FINISH, START, part("text", text="hi"), FINISH)
    assert (result["input_tokens"], result["output_tokens"], result["cache_read_input_tokens"]) == (20, 4, 6)
    assert (result["total_cost_usd"], result["error"], result["results"]) == (0.5, None, 1)


def test_costs_add_up_as_decimals() -> None:
    steps = [part("step_finish", cost=cost) for cost in (0.1, 0.2, 0.3)]
    assert inspected("opencode", part("text", text="x"), *steps)["total_cost_usd"] == 0.6


@pytest.mark.parametrize("cost", [None, "0.1", True, float("nan"), float("inf"), []])
def test_a_cost_that_is_not_a_number_is_ignored(cost: Any) -> None:
    assert inspected("opencode", part("text", text="x"), part("step_finish", cost=cost))["total_cost_usd"] is None


def test_an_error_counts_with_its_status() -> None:
    result = inspected("opencode", START, error("slow down", statusCode=429), ending=Ending(exit_code=1))
    assert (result["error"], result["error_category"], result["api_error_status"]) == ("slow down", "rate_limit", 429)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"name": "MessageAbortedError"}, "MessageAbortedError"),
        ({"name": "X", "message": "plain"}, "plain"),
        ("just words", "just words"),
        ({}, "API error (no detail)"),
        (None, "API error (no detail)"),
        ({"data": {"message": 5, "statusCode": "429"}}, "API error (no detail)"),
    ],
)
def test_an_error_of_any_form_is_an_error(body: Any, message: str) -> None:
    assert inspected("opencode", line("error", error=body))["error"] == message


def test_an_error_after_which_the_agent_continued_is_a_warning() -> None:
    result = inspected("opencode", error("overloaded", statusCode=529), START, part("text", text="ok"), FINISH)
    assert (result["error"], result["warnings"], result["output"]) == (None, ["overloaded"], "ok")


def test_an_error_at_the_end_counts_despite_earlier_text() -> None:
    result = inspected("opencode", START, part("text", text="so far"), error("gone"))
    assert (result["error"], result["output"]) == ("gone", "so far")


def test_no_text_and_no_error_is_no_result() -> None:
    result = inspected("opencode", START, ending=Ending(exit_code=0))
    assert (result["results"], result["session_id"], result["error_category"]) == (0, "ses_1", "parse")


def test_a_stream_that_ends_within_a_step_has_no_result() -> None:
    result = inspected("opencode", START, part("text", text="half"), ending=Ending(exit_code=137))
    assert (result["results"], result["run_error"]) == (0, True)
    waiting = part("step_finish", reason="tool-calls")
    assert inspected("opencode", START, part("text", text="half"), waiting)["results"] == 0


def test_a_text_without_any_step_is_an_answer() -> None:
    result = inspected("opencode", part("text", text="hello"))
    assert (result["final_text"], result["results"], result["warnings"]) == ("hello", 1, [])


def test_a_run_stopped_within_a_step_is_timed_out_and_one_after_its_last_step_is_not() -> None:
    stopped = Ending(exit_code=-15, timed_out=True)
    assert inspected("opencode", START, part("text", text="x"), ending=stopped)["error"] == "timeout"
    assert inspected("opencode", START, part("text", text="x"), FINISH, ending=stopped)["error"] is None


def test_done_is_the_result_and_the_end_of_the_stream_adds_nothing() -> None:
    result = inspected("opencode", START, part("text", text="x"), FINISH, line("done", reason="idle", rejected=[]))
    assert (result["results"], result["error"], result["run_error"]) == (1, None, False)


def test_done_after_an_error_is_a_failure() -> None:
    result = inspected("opencode", error("gone"), line("done", reason="idle", rejected=[]))
    assert (result["results"], result["error"]) == (1, "gone")


def test_rejected_permissions_are_denials() -> None:
    result = inspected("opencode", part("text", text="x"), line("done", rejected=["bash", 5, "edit"]))
    assert result["permission_denials"] == [{"tool_name": "bash"}, 5, {"tool_name": "edit"}]


def test_a_tool_is_printed_once_for_its_call_and_its_answer() -> None:
    ok = {"status": "completed", "input": {"command": "ls"}, "output": "a"}
    bad = {"status": "error", "input": {}, "error": "no"}
    result = inspected(
        "opencode",
        part("tool_use", tool="bash", callID="c1", state=ok),
        part("tool_use", tool="read", callID="c2", state=bad),
        part("tool_use", tool="grep", state="odd"),
    )
    assert (result["tool_uses"], result["tool_results"], result["tool_errors"]) == (3, 2, 1)


@pytest.mark.parametrize("kind", ["text", "reasoning", "tool_use"])
@pytest.mark.parametrize("broken", [None, 5, [], {}, {"text": 5, "tool": 5}])
def test_a_malformed_part_is_kept_as_unknown(kind: str, broken: Any) -> None:
    assert inspected("opencode", line(kind, part=broken), part("text", text="x"))["unknown_events"] == 1


def test_reasoning_is_not_output() -> None:
    assert inspected("opencode", part("reasoning", text="hm"), part("text", text="x"))["output"] == "x"

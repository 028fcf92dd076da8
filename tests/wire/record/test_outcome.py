"""The verdict: an error subtype, a stream that was cut off, and a process that never ran are never a clean success."""

from __future__ import annotations

from typing import Any

import pytest

from bridle.wire.record.outcome import NO_RESULT, OPEN_TURN, Ending, Rules
from bridle.wire.record.policy import Policy
from tests.wire.fixtures import dialect_recordings
from tests.wire.fixtures.stream_lines import (
    Line,
    assistant_line,
    encode_lines,
    init,
    inspected,
    inspected_bytes,
    result,
)

SUBTYPES = ["error", "error_max_turns", "error_during_execution", "error_max_budget_usd", "error_of_next_year"]
# Whatever is not `success` is an error.
SUBTYPES += ["Error", "ERROR", " error", "failed", "failure", "cancelled", "interrupted", "Success", "success_error"]


def failed_by_subtype(subtype: str, **fields: Any) -> list[Line]:
    return [init(), assistant_line("so far"), result(**{"words": ..., "subtype": subtype, **fields})]


@pytest.mark.parametrize("is_error", [False, None, ..., "true", 1])
@pytest.mark.parametrize("subtype", SUBTYPES)
def test_an_error_subtype_fails_the_run_whatever_is_error_says(subtype: str, is_error: Any) -> None:
    document = inspected(failed_by_subtype(subtype, is_error=is_error, errors=["Reached the limit (2)", "twice"]))
    assert (document["run_error"], document["succeeded_cleanly"]) == (True, False)
    assert document["run_error_reason"] == "Reached the limit (2); twice"
    assert (document["error"], document["result_subtype"]) == (None, subtype), "only is_error: true is an error text"


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({}, "error_max_turns"),
        ({"errors": []}, "error_max_turns"),
        ({"errors": [None, 5]}, "error_max_turns"),
        ({"errors": [{"message": "from an object"}]}, "from an object"),
        ({"errors": "one text"}, "one text"),
        ({"content": "in the content"}, "in the content"),
        ({"content": [{"type": "text", "text": "in a block"}]}, "in a block"),
        ({"content": {"error": {"message": "deep in the content"}}}, "deep in the content"),
        ({"content": [{"error": "one"}, {"detail": "two"}]}, "one; two"),
        ({"error": {"type": "overloaded_error", "message": "in the error"}}, "in the error"),
        ({"error": "only text"}, "only text"),
        ({"errors": {"error": {"message": "one object"}}}, "one object"),
        ({"words": "an answer, not a reason"}, "error_max_turns"),
    ],
)
def test_the_reason_is_the_listed_errors_then_the_subtype(fields: dict[str, Any], reason: str) -> None:
    document = inspected(failed_by_subtype("error_max_turns", is_error=False, **fields))
    assert (document["run_error_reason"], document["error"]) == (reason, None)


def test_the_reason_is_one_line() -> None:
    said = inspected([init(), result("boom\n  at line 1\n", is_error=True)])
    assert (said["error"], said["run_error_reason"]) == ("boom\n  at line 1\n", "boom at line 1")


def test_a_declared_error_has_its_words_from_the_content_too() -> None:
    said = inspected([init(), result(..., is_error=True, content="credit exhausted (429)")])
    assert (said["error"], said["error_category"], said["run_error"]) == ("credit exhausted (429)", "rate_limit", True)


@pytest.mark.parametrize("words", [{"error": {"message": "no credit"}}, {"message": "no credit"}])
def test_a_declared_error_has_its_words_from_an_object(words: dict[str, Any]) -> None:
    assert inspected([init(), result(words, is_error=True)])["error"] == "no credit"
    assert inspected([init(), result("", is_error=True, error=words)])["error"] == "no credit"
    assert inspected([init(), result("", is_error=True, content=words)])["error"] == "no credit"


def test_words_that_are_nested_too_deep_are_not_searched() -> None:
    nested: Any = "words"
    for _ in range(500):
        nested = {"error": nested}
    assert inspected([init(), result(..., is_error=True, error=nested)])["error"] == "API error (no detail)"


@pytest.mark.parametrize("subtype", ["success", "", None, ..., 5])
def test_success_or_no_subtype_is_a_success(subtype: Any) -> None:
    assert inspected([init(), result("ok", subtype=subtype)])["succeeded_cleanly"]


@pytest.mark.parametrize("listed", [{"errors": ["one", "two"]}, {"error": {"message": "one; two"}}])
@pytest.mark.parametrize("is_error", [False, None, ...])
@pytest.mark.parametrize("subtype", [..., None, "", 5, []])
def test_errors_without_a_subtype_are_a_failure_with_their_words(subtype: Any, is_error: Any, listed: Line) -> None:
    lines = [init(), assistant_line("a"), result("a", subtype=subtype, is_error=is_error, **listed)]
    document = inspected(lines)
    assert (document["succeeded_cleanly"], document["run_error"]) == (False, True)
    assert document["run_error_reason"] == "one; two"


def test_the_next_turn_that_succeeds_counts() -> None:
    turns = [*failed_by_subtype("error_max_turns", is_error=False), init(), assistant_line("ok"), result("ok")]
    assert inspected(turns)["succeeded_cleanly"]


@pytest.mark.parametrize("agent", ["amp", "cursor"])
def test_other_agents_with_results_of_this_form_fail_by_their_subtype(agent: str) -> None:
    lines = failed_by_subtype("error_max_turns", is_error=False, errors=["too many turns"])
    document = dialect_recordings.inspected(agent, *lines)
    assert (document["run_error"], document["run_error_reason"]) == (True, "too many turns")


@pytest.mark.parametrize("status", ["error", "cancelled", "failed"])
def test_a_status_other_than_success_is_a_failure_of_gemini(status: str) -> None:
    init_line: Line = {"type": "init", "session_id": "g", "model": "m"}
    document = dialect_recordings.inspected("gemini", init_line, {"type": "result", "status": status, "stats": {}})
    assert (document["run_error"], document["succeeded_cleanly"]) == (True, False)


WHOLE = encode_lines([init(), assistant_line("the answer"), result("the answer")])
LAST_LINE = WHOLE.rindex(b'{"type": "result"')


@pytest.mark.parametrize("policy", list(Policy))
def test_a_stream_cut_off_anywhere_in_its_result_line_is_never_clean(policy: Policy) -> None:
    for end in range(LAST_LINE, len(WHOLE) - 2):
        document = inspected_bytes(WHOLE[:end], rules=Rules(policy=policy))
        assert (document["succeeded_cleanly"], document["degraded"]) == (False, True), WHOLE[LAST_LINE:end]
        assert document["final_text"] == "the answer"
        assert NO_RESULT in document["warnings"]
    assert inspected_bytes(WHOLE[:-1], rules=Rules(policy=policy))["succeeded_cleanly"]


def test_a_stream_that_ends_within_a_later_turn_is_not_clean() -> None:
    document = inspected([init(), result("first"), init(), assistant_line("second, cut")])
    assert (document["succeeded_cleanly"], document["run_error"]) == (False, False)
    assert OPEN_TURN in document["warnings"]
    ended = inspected([init(), result("first"), init()], Ending(exit_code=-15, ended_by_us=True))
    assert (ended["succeeded_cleanly"], ended["warnings"]) == (True, [])


@pytest.mark.parametrize("parent", [None, "toolu_1"])
@pytest.mark.parametrize(
    "late", [assistant_line("more"), assistant_line("x", error="server_error"), {"type": "stream_event", "event": {}}]
)
def test_a_message_after_the_result_needs_a_result_of_its_own(late: Line, parent: str | None) -> None:
    lines = [init(), assistant_line("a"), result("a"), {**late, "parent_tool_use_id": parent}]
    document = inspected(lines)
    is_of_the_agent = parent is None  # a sub-agent in the background may continue
    assert document["succeeded_cleanly"] is not is_of_the_agent
    assert (OPEN_TURN in document["warnings"]) is is_of_the_agent
    document = inspected([*lines, result("b")])
    assert (document["succeeded_cleanly"], document["warnings"]) == (True, [])


def test_a_stream_cut_off_anywhere_in_a_second_result_line_is_not_clean() -> None:
    second = WHOLE[LAST_LINE:]
    for end in range(1, len(second) - 2):
        document = inspected_bytes(WHOLE + second[:end])
        assert (document["succeeded_cleanly"], document["run_error"]) == (False, False), second[:end]
        assert OPEN_TURN in document["warnings"]
    ended = Ending(exit_code=-15, ended_by_us=True)
    assert inspected_bytes(WHOLE + second[:50], ended)["succeeded_cleanly"], "it was ended while it printed"
    assert inspected_bytes(WHOLE + second[:50] + b"\n" + second)["succeeded_cleanly"], "a whole result follows"
    assert inspected_bytes(WHOLE + b"bye\n")["succeeded_cleanly"]


NO_TOKENS = {"usage": {"input_tokens": 0, "output_tokens": 0}}


def test_a_cost_of_0_without_tokens_is_not_known_if_the_messages_had_tokens() -> None:
    said = assistant_line("half", usage={"input_tokens": 5704, "output_tokens": 1})
    cut = {"words": ..., "subtype": "error_during_execution", "is_error": True, "total_cost_usd": 0, **NO_TOKENS}
    document = inspected([init(), said, result(**cut)])
    assert (document["total_cost_usd"], document["usage_estimate"]["input_tokens"]) == (None, 5704)
    assert inspected([init(), assistant_line("half"), result(**cut)])["total_cost_usd"] == 0, "it had used nothing"
    free = result("ok", total_cost_usd=0, usage={"input_tokens": 5704, "output_tokens": 1})
    assert inspected([init(), said, free])["total_cost_usd"] == 0, "a model that costs nothing"
    later = [init(), said, result("ok", total_cost_usd=0.5), init(), said, result(**cut)]
    assert inspected(later)["total_cost_usd"] == 0.5, "the cost is that of all turns"


@pytest.mark.parametrize("unknown", [..., None, "x", -1, float("nan")])
def test_a_later_turn_without_a_cost_makes_the_total_unknown_until_one_has_it(unknown: Any) -> None:
    turns = [init(), result(total_cost_usd=0.03), init(), result(total_cost_usd=unknown)]
    assert inspected(turns)["total_cost_usd"] is None
    assert inspected([*turns, init(), result(total_cost_usd=0.05)])["total_cost_usd"] == 0.05, "it is cumulative"
    assert inspected([*turns[:2], turns[3]])["total_cost_usd"] == 0.03, "without an init it is the same turn"


def test_negative_amounts_are_not_known() -> None:
    document = inspected([init(), result("ok", total_cost_usd=-1, usage={"input_tokens": -5, "output_tokens": 7})])
    assert (document["total_cost_usd"], document["input_tokens"], document["output_tokens"]) == (None, 0, 7)


def test_an_empty_answer_is_no_permission_problem_where_denials_are_allowed() -> None:
    lines = [init(), result("", permission_denials=["Bash"], num_turns=1)]
    document = inspected(lines, rules=Rules(denials_fail=False))
    assert (document["run_error"], document["error_category"]) == (True, None)


def test_a_missing_program_has_no_category_and_the_exit_code_minus_1() -> None:
    document = inspected([], Ending(exit_code=None, not_found="Claude CLI not found: it is not on PATH"))
    assert (document["error"], document["error_category"]) == ("Claude CLI not found: it is not on PATH", None)
    assert (document["exit_code"], document["run_error"], document["warnings"]) == (-1, True, [])


def test_a_run_that_bridle_interrupted_has_not_succeeded() -> None:
    document = inspected([init(), assistant_line("half")], Ending(exit_code=0, fault="interrupted"))
    assert (document["error"], document["succeeded"], document["run_error"]) == ("interrupted", False, True)


def test_stderr_that_only_repeats_the_error_is_no_warning() -> None:
    missing = result(..., subtype="error_during_execution", is_error=True, errors=["No conversation found"])
    assert inspected([missing], Ending(exit_code=1, stderr="No conversation found\n"))["warnings"] == []
    assert inspected([missing], Ending(exit_code=1, stderr="and more"))["warnings"] == ["stderr: and more"]


def test_a_session_that_could_not_be_resumed_is_no_fork() -> None:
    missing = result(..., subtype="error_during_execution", is_error=True, session_id="new")
    assert not inspected([missing], Ending(exit_code=1, expected_session="old"))["session_forked"]
    expected = Ending(exit_code=1, expected_session="old")
    assert not inspected([init(session_id="new"), missing], expected)["session_forked"], "it answered nothing there"
    assert not inspected([init(session_id="new")], expected)["session_forked"]
    assert not inspected([init(session_id="new"), assistant_line("half")], expected)["session_forked"]
    degraded = [init(session_id="new"), assistant_line("text")]
    assert inspected(degraded, Ending(expected_session="old"))["session_forked"]
    assert inspected([result("ok", session_id="new")], Ending(expected_session="old"))["session_forked"]

"""The verdict: an error subtype, a stream that was cut off, and a process that never ran are never a clean success."""

from __future__ import annotations

from typing import Any

import pytest

from bridle.wire.record.outcome import NO_RESULT, OPEN_TURN, Ending, Policy, Rules
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
        ({"words": "an answer, not a reason"}, "error_max_turns"),
    ],
)
def test_the_reason_is_the_listed_errors_then_the_subtype(fields: dict[str, Any], reason: str) -> None:
    document = inspected(failed_by_subtype("error_max_turns", is_error=False, **fields))
    assert (document["run_error_reason"], document["error"]) == (reason, None)


def test_a_declared_error_has_its_words_from_the_content_too() -> None:
    said = inspected([init(), result(..., is_error=True, content="credit exhausted (429)")])
    assert (said["error"], said["error_category"], said["run_error"]) == ("credit exhausted (429)", "rate_limit", True)


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
    assert inspected([init(session_id="new"), missing], Ending(expected_session="old"))["session_forked"]
    assert inspected([result("ok", session_id="new")], Ending(expected_session="old"))["session_forked"]

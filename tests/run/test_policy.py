"""What the end of an attempt means: whether to retry, and whether the agent can be used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bridle.errors import AgentNotFound, AgentNotReady, ProcessError, UsageError
from bridle.ground.children.child_process import SpawnFailure
from bridle.run.policy import (
    connection_error,
    describe_login_failure,
    deserves_retry,
    log_in_remedy,
    login_error,
    rules_of,
    start_error,
)
from bridle.run.request import Request
from bridle.wire.record.kept_text import Chunk
from bridle.wire.record.outcome import Ending, Rules, judge
from bridle.wire.record.policy import Policy
from bridle.wire.record.record import Failure, Record, Tally

NO_CONNECTION = "API Error: Unable to connect to API (ConnectionRefused)"


def retried(record: Record, policy: Policy = Policy.HARNESS, **ending: Any) -> bool:
    how = Ending(**ending)
    return deserves_retry(record, judge(record, how, Rules(policy=policy)), how)


def test_a_crash_is_retried_and_a_result_a_limit_or_a_fault_is_not() -> None:
    assert retried(Record(), exit_code=1)
    assert not retried(Record(results=1, failure=Failure("no")), exit_code=1)
    assert not retried(Record(), exit_code=1, timed_out=True)
    assert not retried(Record(), exit_code=1, fault="the disk is full")
    assert not retried(Record(), exit_code=None, not_found="no such program")
    assert retried(Record(results=1, is_turn_open=True))
    assert not retried(Record(results=1, is_turn_open=True), ended_by_us=True)


def test_the_lenient_policy_retries_only_an_error() -> None:
    assert not retried(Record(chunks=[Chunk("text")]), Policy.LENIENT)
    assert retried(Record(), Policy.LENIENT, exit_code=1, stderr="boom")


def test_background_work_is_not_doubted_where_it_is_switched_off() -> None:
    request = Request("p", Path("/w"))
    assert rules_of(request, {}).background_heuristic
    assert not rules_of(request, {"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1"}).background_heuristic


def test_an_agent_that_cannot_start_is_the_fault_of_whoever_can_fix_it() -> None:
    error = ProcessError("no", remedy="do")
    assert isinstance(start_error("claude", error, SpawnFailure("program", None)), AgentNotFound)
    assert isinstance(start_error("claude", error, SpawnFailure("interpreter", None)), AgentNotReady)
    with pytest.raises(UsageError):
        start_error("claude", error, SpawnFailure("folder", None))
    with pytest.raises(ProcessError):
        start_error("claude", error, SpawnFailure("machine", None))


def test_a_rejected_key_and_a_missing_login_have_different_remedies() -> None:
    record = Record(results=1, failure=Failure("Not logged in · Please run /login", notice="authentication_failed"))
    outcome = judge(record, Ending(exit_code=1))
    request = Request("p", Path("/w"))
    by_login, by_key = (login_error(request, record, outcome, auth) for auth in ("login", "ANTHROPIC_API_KEY"))
    assert by_login is not None
    assert by_login.message == "claude is not logged in"
    assert by_key is not None
    assert by_key.message.startswith("claude cannot log in: the API rejected ANTHROPIC_API_KEY (")
    other = Record(results=1, failure=Failure("overloaded", api_error_status=529))
    assert login_error(request, other, judge(other, Ending(exit_code=1)), "login") is None


def test_an_unusual_failure_of_the_login_is_quoted() -> None:
    assert describe_login_failure("codex", "token expired") == "codex cannot log in (token expired)"
    assert describe_login_failure("codex", "") == "codex is not logged in"
    assert log_in_remedy("codex") == "Run codex and log in."
    ways = ("`bridle-agent auth login`", "`bridle-agent auth login --from-claude`", "ANTHROPIC_API_KEY")
    assert all(way in log_in_remedy("bridle-agent") for way in ways)


def unreachable(environment: dict[str, str], agent: str = "claude", text: str = NO_CONNECTION, **more: Any) -> str:
    record = Record(results=1, failure=Failure(text, notice="server_error"), **more)
    request = Request("p", Path("/w"), agent=agent)
    error = connection_error(request, record, judge(record, Ending(exit_code=1)), environment)
    return "" if error is None else error.message


@pytest.mark.parametrize(
    ("environment", "address"),
    [
        ({}, " https://api.anthropic.com"),
        ({"ANTHROPIC_BASE_URL": "http://u:p@[::1]:9/secret?key=k"}, " http://[::1]:9"),
        ({"ANTHROPIC_BASE_URL": "http://[::1"}, ""),
        ({"ANTHROPIC_BASE_URL": "nonsense"}, ""),
        ({"CLAUDE_CODE_USE_BEDROCK": "1"}, ""),
    ],
)
def test_an_endpoint_that_was_never_reached_is_named(environment: dict[str, str], address: str) -> None:
    assert unreachable(environment) == f"claude cannot reach its endpoint{address} ({NO_CONNECTION})"


def test_an_endpoint_that_was_lost_in_mid_work_or_that_answered_is_not_unreachable() -> None:
    assert unreachable({}) != ""
    assert unreachable({}, tool_uses=1) == ""
    assert unreachable({}, usage=Tally(output_tokens=7)) == ""
    assert unreachable({}, text="API Error: 529 overloaded_error") == ""

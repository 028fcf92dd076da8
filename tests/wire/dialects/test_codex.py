"""Codex: errors wait for the turn's end, items are tool calls, tokens add up."""

from __future__ import annotations

from typing import Any

import pytest

from bridle.wire.events.blocks import Thinking, ToolUse
from bridle.wire.events.events import Assistant, Result, User
from bridle.wire.events.system import ApiRetry
from bridle.wire.record.outcome import Ending
from tests.wire.fixtures.dialect_recordings import events_of, inspected
from tests.wire.fixtures.stream_lines import Line

THREAD = {"type": "thread.started", "thread_id": "th_1"}
STARTED = {"type": "turn.started"}
COMPLETED: Line = {"type": "turn.completed", "usage": {"input_tokens": 10, "output_tokens": 2}}


def item(stage: str, kind: Any, item_id: Any = "item_1", **fields: Any) -> Line:
    return {"type": f"item.{stage}", "item": {"id": item_id, "type": kind, **fields}}


def agent_message(text: Any) -> Line:
    return item("completed", "agent_message", text=text)


def error(message: Any) -> Line:
    return {"type": "error", "message": message}


def failed(message: Any) -> Line:
    return {"type": "turn.failed", "error": {"message": message}}


def test_a_failed_turn_is_an_error_with_its_message() -> None:
    result = inspected("codex", THREAD, STARTED, failed("boom"), ending=Ending(exit_code=1))
    assert (result["error"], result["error_category"], result["run_error"]) == ("boom", "api", True)
    assert result["session_id"] == "th_1"


@pytest.mark.parametrize("wrong", [None, 5, "", {}, []])
def test_a_failed_turn_without_a_message_is_an_error_without_detail(wrong: Any) -> None:
    result = inspected("codex", THREAD, STARTED, failed(wrong))
    assert (result["error"], result["error_category"]) == ("API error (no detail)", "api")


def test_a_failed_turn_without_a_message_is_explained_by_the_error_before_it() -> None:
    assert inspected("codex", STARTED, error("no route to host"), failed(None))["error"] == "no route to host"


def test_an_error_counts_if_the_stream_ends_before_the_turn() -> None:
    result = inspected("codex", THREAD, STARTED, agent_message("half"), error("first"), error("second"))
    assert (result["error"], result["results"], result["output"]) == ("first", 1, "half")


def test_an_error_before_any_turn_counts_too() -> None:
    result = inspected("codex", error("unexpected status 401 Unauthorized"), ending=Ending(exit_code=1))
    assert (result["error"], result["error_category"]) == ("unexpected status 401 Unauthorized", "auth")


def test_an_error_in_a_turn_that_was_completed_is_a_warning() -> None:
    result = inspected("codex", THREAD, STARTED, error("hiccup"), agent_message("fine"), COMPLETED)
    assert (result["error"], result["warnings"], result["succeeded_cleanly"]) == (None, ["hiccup"], True)


def test_an_error_after_the_completed_turn_is_a_warning() -> None:
    result = inspected("codex", THREAD, STARTED, agent_message("fine"), COMPLETED, error("late"))
    assert (result["error"], result["warnings"]) == (None, ["late"])


@pytest.mark.parametrize(
    ("message", "attempt", "of", "status"),
    [
        ("Reconnecting... 2/5 (unexpected status 503 Service Unavailable)", 2, 5, 503),
        ("stream disconnected before completion; retrying 1/4 in 200ms…", 1, 4, None),
        ("Reconnecting...", None, None, None),
    ],
)
def test_a_restored_connection_is_a_retry(
    message: str, attempt: int | None, of: int | None, status: int | None
) -> None:
    (retry,) = [
        event for event in events_of("codex", STARTED, error(message), COMPLETED) if isinstance(event, ApiRetry)
    ]
    assert (retry.attempt, retry.max_retries, retry.error_status, retry.error) == (attempt, of, status, message)
    result = inspected("codex", THREAD, STARTED, error(message), agent_message("ok"), COMPLETED)
    assert (result["error"], result["warnings"], result["api_retries"]) == (None, [], 1)


def test_a_stream_that_ends_while_reconnecting_is_an_error() -> None:
    result = inspected("codex", THREAD, STARTED, error("Reconnecting... 5/5"), ending=Ending(exit_code=1))
    assert (result["error"], result["error_category"]) == ("Reconnecting... 5/5", "api")


def test_a_run_that_was_stopped_while_reconnecting_is_timed_out() -> None:
    result = inspected(
        "codex", THREAD, STARTED, error("Reconnecting... 3/5"), ending=Ending(exit_code=-15, timed_out=True)
    )
    assert (result["error"], result["error_category"], result["exit_code"]) == ("timeout", "timeout", -1)


def test_a_stream_without_an_error_and_without_an_end_has_no_result() -> None:
    result = inspected("codex", THREAD, STARTED, agent_message("half"), ending=Ending(exit_code=137))
    assert (result["error"], result["results"], result["run_error"]) == (None, 0, True)
    assert any("without a 'result'" in warning for warning in result["warnings"])


@pytest.mark.parametrize(
    ("message", "category"),
    [
        ("You've hit your usage limit. Try again in 3 days.", "rate_limit"),
        ("Quota exceeded. Check your plan and billing details.", "rate_limit"),
        ("last status: 429 Too Many Requests", "rate_limit"),
        ("Rate limit reached for the model", "rate_limit"),
        ("Missing environment variable: `OPENAI_API_KEY`.", "auth"),
        ("Incorrect API key provided", "auth"),
        ("unexpected status 403 Forbidden", "auth"),
        ("invalid API key, rate limit 0", "rate_limit"),
        ("unexpected status 500", "api"),
    ],
)
def test_the_message_of_a_failure_determines_its_category(message: str, category: str) -> None:
    result = inspected("codex", THREAD, STARTED, failed(message))
    assert (result["error"], result["error_category"]) == (message, category)


def test_an_error_item_is_only_a_warning_and_one_about_lost_events_is_prefixed() -> None:
    result = inspected(
        "codex",
        item("completed", "error", message="model rerouted"),
        item("completed", "error", message="3 events were dropped"),
        item("completed", "error", message=7),
        STARTED,
        agent_message("x"),
        COMPLETED,
    )
    assert result["error"] is None
    assert result["warnings"][:2] == ["model rerouted", "dropped-events: 3 events were dropped"]
    assert len(result["warnings"]) == 3


def test_a_later_successful_turn_clears_an_earlier_failure_and_adds_its_tokens() -> None:
    result = inspected(
        "codex", THREAD, STARTED, COMPLETED, STARTED, failed("x"), STARTED, agent_message("y"), COMPLETED
    )
    assert (result["error"], result["input_tokens"], result["output_tokens"], result["results"]) == (None, 20, 4, 3)


def test_turns_without_a_start_add_up_too() -> None:
    assert inspected("codex", THREAD, COMPLETED, COMPLETED)["input_tokens"] == 20
    assert inspected("codex", COMPLETED, COMPLETED, COMPLETED)["input_tokens"] == 30


@pytest.mark.parametrize("usage", [None, [], "12", {"input_tokens": None, "output_tokens": "many"}])
def test_broken_token_counts_are_zero(usage: Any) -> None:
    result = inspected("codex", agent_message("x"), {"type": "turn.completed", "usage": usage})
    assert (result["error"], result["input_tokens"], result["output_tokens"]) == (None, 0, 0)


def test_token_counts_may_be_strings_and_fractions() -> None:
    usage = {"input_tokens": "12", "output_tokens": 7.9}
    result = inspected("codex", agent_message("x"), {"type": "turn.completed", "usage": usage})
    assert (result["input_tokens"], result["output_tokens"]) == (12, 7)


def test_an_item_that_is_started_updated_and_completed_is_one_call_with_one_result() -> None:
    command = {"command": "ls", "aggregated_output": "a\n", "exit_code": 0, "status": "completed"}
    stages = [item(stage, "command_execution", **command) for stage in ("started", "started", "updated", "completed")]
    result = inspected("codex", THREAD, *stages)
    assert (result["tool_uses"], result["tool_results"], result["tool_errors"]) == (1, 1, 0)


@pytest.mark.parametrize(
    ("kind", "fields", "name", "arguments", "output", "is_error"),
    [
        ("command_execution", {"command": "ls", "aggregated_output": "a"}, "Bash", {"command": "ls"}, "a", False),
        (
            "command_execution",
            {"command": "x", "aggregated_output": "", "exit_code": 127, "status": "failed"},
            "Bash",
            {"command": "x"},
            "exit code 127",
            True,
        ),
        (
            "file_change",
            {"changes": [{"path": "a", "kind": "add"}, 5], "status": "failed"},
            "file_change",
            {"changes": [{"path": "a", "kind": "add"}, 5]},
            "add a",
            True,
        ),
        (
            "mcp_tool_call",
            {"server": "s", "tool": "t", "arguments": {"a": 1}, "error": {"message": "no"}, "status": "failed"},
            "mcp__s__t",
            {"a": 1},
            "no",
            True,
        ),
        ("web_search", {"query": "q"}, "WebSearch", {"query": "q"}, "", False),
        (
            "todo_list",
            {"items": [{"text": "a", "completed": True}, {"text": "b"}]},
            "TodoWrite",
            {"todos": [{"content": "a", "status": "completed"}, {"content": "b", "status": "pending"}]},
            "[x] a\n[ ] b",
            False,
        ),
        (
            "collab_tool_call",
            {"tool": "spawn_agent", "prompt": "look\nhere", "status": "completed"},
            "Task",
            {"description": "look", "prompt": "look\nhere"},
            "completed",
            False,
        ),
        (
            "collab_tool_call",
            {"tool": "wait", "receiver_thread_ids": ["t2"]},
            "wait",
            {"prompt": "", "receiver_thread_ids": ["t2"]},
            "",
            False,
        ),
    ],
)
def test_an_item_is_a_tool_call_and_its_answer(
    kind: str, fields: dict[str, Any], name: str, arguments: dict[str, Any], output: str, is_error: bool
) -> None:
    call, answer = events_of("codex", item("completed", kind, **fields))
    assert isinstance(call, Assistant)
    assert isinstance(answer, User)
    (use,), (block,) = call.tool_uses, answer.message.blocks
    assert (use.id, use.name, use.arguments) == ("item_1", name, arguments)
    assert (block.tool_use_id, block.text, block.is_error) == ("item_1", output, is_error)  # type: ignore[union-attr]  # a wrong block fails here


def test_a_declined_command_is_a_refused_permission() -> None:
    result = inspected(
        "codex", item("completed", "command_execution", command="rm", status="declined"), agent_message("x"), COMPLETED
    )
    assert [denial["tool_name"] for denial in result["permission_denials"]] == ["Bash"]
    assert result["error_category"] == "permission"


def test_reasoning_is_thinking_and_not_output() -> None:
    (event,) = events_of("codex", item("completed", "reasoning", text="hm"))
    assert isinstance(event, Assistant)
    assert event.message.blocks == (Thinking(thinking="hm"),)


def test_a_question_to_the_user_is_the_tool_that_asks() -> None:
    (event,) = events_of("codex", {"type": "request_user_input", "call_id": "c", "questions": [{"question": "?"}]})
    assert isinstance(event, Assistant)
    (use,) = event.tool_uses
    assert isinstance(use, ToolUse)
    assert (use.name, use.id, use.arguments) == ("AskUserQuestion", "c", {"questions": [{"question": "?"}]})


@pytest.mark.parametrize("broken", [None, 5, [], "text", {}, {"type": 5}, {"type": "hologram"}])
def test_an_unknown_item_is_counted_and_kept(broken: Any) -> None:
    line = {"type": "item.completed", "item": broken}
    assert inspected("codex", line, agent_message("x"), COMPLETED)["unknown_events"] == 1


@pytest.mark.parametrize("text", [None, 5, {}])
def test_a_message_whose_text_is_not_a_string_is_not_part_of_the_answer(text: Any) -> None:
    result = inspected("codex", agent_message(text), agent_message("x"), COMPLETED)
    assert (result["output"], result["unknown_events"]) == ("x", 1)


def test_items_without_an_id_still_pair_up() -> None:
    lines = [item("completed", "command_execution", None, command=name) for name in ("a", "b")]
    events = events_of("codex", item("started", "command_execution", None, command="a"), *lines)
    uses = [use.id for event in events if isinstance(event, Assistant) for use in event.tool_uses]
    assert len(set(uses)) == len(uses) == 2


def test_the_result_follows_the_turn_and_not_the_end_of_the_stream() -> None:
    assert isinstance(events_of("codex", STARTED, agent_message("x"), COMPLETED, {"type": "later"})[-2], Result)

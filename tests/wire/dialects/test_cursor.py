"""Cursor: tool calls pair up by their id, repeated words count once, a failed run has no result."""

from __future__ import annotations

from typing import Any

import pytest

from bridle.wire.events.blocks import Thinking, ToolResult
from bridle.wire.events.events import Assistant, User
from bridle.wire.record.outcome import Ending
from tests.wire.fixtures.dialect_recordings import events_of, inspected
from tests.wire.fixtures.stream_lines import Line

INIT = {"type": "system", "subtype": "init", "session_id": "c1", "model": "m"}
RESULT = {"type": "result", "subtype": "success", "is_error": False, "result": "all", "session_id": "c1"}


def message(text: Any, **marks: Any) -> Line:
    return {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": text}]}, **marks}


def tool(stage: str, call_id: Any = "c", **call: Any) -> Line:
    return {"type": "tool_call", "subtype": stage, "call_id": call_id, "tool_call": call}


def thinking(stage: str, **fields: Any) -> Line:
    return {"type": "thinking", "subtype": stage, **fields}


READ = {"args": {"path": "a"}}
READ_OK = {**READ, "result": {"success": {"content": "words"}}}


def results_of(*lines: Line) -> list[ToolResult]:
    blocks = [b for e in events_of("cursor", *lines) if isinstance(e, User) for b in e.message.blocks]
    return [block for block in blocks if isinstance(block, ToolResult)]


def test_parallel_calls_pair_up_though_they_end_in_another_order() -> None:
    lines = [
        tool("started", "a\n1", readToolCall=READ),
        tool("started", "b\n2", readToolCall=READ),
        tool("completed", "b\n2", readToolCall=READ_OK),
        tool("completed", "a\n1", readToolCall=READ_OK),
    ]
    actual = inspected("cursor", INIT, *lines, RESULT)
    assert (actual["tool_uses"], actual["tool_results"], actual["unknown_events"]) == (2, 2, 0)
    assert [result.tool_use_id for result in results_of(*lines)] == ["b\n2", "a\n1"]


def test_a_call_whose_start_was_not_printed_is_still_a_call() -> None:
    result = inspected("cursor", tool("completed", readToolCall=READ_OK), tool("completed", None, readToolCall=READ_OK))
    assert (result["tool_uses"], result["tool_results"]) == (2, 2)


def test_a_start_that_is_repeated_is_one_call() -> None:
    assert inspected("cursor", *[tool("started", readToolCall=READ)] * 2)["tool_uses"] == 1


def test_an_id_that_is_used_again_is_another_call() -> None:
    both = [tool("started", readToolCall=READ), tool("completed", readToolCall=READ_OK)]
    assert inspected("cursor", *both, *both)["tool_uses"] == 2


@pytest.mark.parametrize(
    ("call", "name", "arguments"),
    [
        ({"shellToolCall": {"args": {"command": "ls"}}}, "Bash", {"command": "ls"}),
        ({"readToolCall": READ}, "Read", {"path": "a"}),
        ({"updateTodosToolCall": {"args": {}}}, "TodoWrite", {}),
        ({"mcpToolCall": {"args": {"providerIdentifier": "s", "toolName": "t"}}}, "mcp__s__t", None),
        ({"function": {"name": "apply", "arguments": '{"a":1}'}}, "apply", {"a": 1}),
        ({"function": {"name": "apply", "arguments": "{broken"}}, "apply", {}),
        ({"readToolCall": {"args": [1]}}, "Read", {}),
    ],
)
def test_the_name_and_the_arguments_of_a_call(
    call: dict[str, Any], name: str, arguments: dict[str, Any] | None
) -> None:
    (event,) = events_of("cursor", tool("started", **call))
    assert isinstance(event, Assistant)
    (use,) = event.tool_uses
    assert use.name == name
    assert arguments is None or use.arguments == arguments


@pytest.mark.parametrize(
    ("result", "text", "is_error"),
    [
        ({"success": {"content": "words"}}, "words", False),
        ({"success": {"stdout": "out", "stderr": "err", "exitCode": 0}}, "out\nerr", False),
        ({"success": {"files": ["a"]}}, '{"files":["a"]}', False),
        ({"failure": {"stdout": "", "stderr": "bad", "exitCode": 1}}, "bad", True),
        ({"error": {"errorMessage": "no such file"}}, "no such file", True),
        ({"rejected": {"reason": "not here"}}, "not here", True),
        ({"error": "plain"}, "plain", True),
        ({}, "", True),
    ],
)
def test_the_text_of_a_tool_result(result: dict[str, Any], text: str, is_error: bool) -> None:
    (block,) = results_of(tool("started", xToolCall={}), tool("completed", xToolCall={"result": result}))
    assert (block.text, block.is_error) == (text, is_error)


def test_a_rejected_call_is_a_refused_permission() -> None:
    result = inspected("cursor", INIT, tool("completed", xToolCall={"result": {"rejected": {}}}), message("x"), RESULT)
    assert ([d["tool_name"] for d in result["permission_denials"]], result["error_category"]) == (["X"], "permission")


@pytest.mark.parametrize("broken", [None, 5, [], {}, {"x": 1}, {"readToolCall": 5}, {"novel": {}}])
def test_a_malformed_call_is_kept_as_unknown(broken: Any) -> None:
    line = {"type": "tool_call", "subtype": "started", "call_id": "c", "tool_call": broken}
    assert inspected("cursor", line)["unknown_events"] == 1


def test_messages_are_joined_by_newlines_where_nothing_is_repeated() -> None:
    assert inspected("cursor", INIT, message("one"), message("two"), RESULT)["output"] == "one\ntwo"


def test_the_same_text_after_a_tool_counts_twice() -> None:
    lines = [message("ok"), tool("started", readToolCall=READ), tool("completed", readToolCall=READ_OK), message("ok")]
    assert inspected("cursor", INIT, *lines, RESULT)["output"] == "ok\nok"


def test_deltas_are_joined_and_their_repetition_counts_once() -> None:
    parts = [message("He", timestamp_ms=1), message("llo", timestamp_ms=2)]
    assert inspected("cursor", INIT, *parts, message("Hello"), RESULT)["output"] == "Hello"
    assert inspected("cursor", INIT, *parts, RESULT)["output"] == "Hello"
    flushed = message("Hello", timestamp_ms=3, model_call_id="m")
    assert inspected("cursor", INIT, *parts, flushed, message("Hello"), RESULT)["output"] == "Hello"


def test_a_repetition_after_the_start_of_a_tool_counts_once_too() -> None:
    lines = [
        message("A", timestamp_ms=1),
        tool("completed", "1", readToolCall=READ_OK),
        message("B", timestamp_ms=2),
        tool("started", "2", readToolCall=READ),
        message("B", timestamp_ms=3, model_call_id="m"),
        tool("completed", "2", readToolCall=READ_OK),
        message("C", timestamp_ms=4),
        message("ABC"),
    ]
    assert inspected("cursor", INIT, *lines, RESULT)["output"] == "A\nB\nC"


def test_a_text_without_deltas_is_kept_among_deltas() -> None:
    assert (
        inspected("cursor", message("He", timestamp_ms=1), message("other words"), RESULT)["output"]
        == "He\nother words"
    )


def test_reasoning_in_deltas_is_one_thought_and_not_output() -> None:
    lines = [thinking("delta", text="h"), thinking("delta", text="m"), thinking("completed"), message("x"), RESULT]
    thoughts = [e.message.blocks for e in events_of("cursor", *lines) if isinstance(e, Assistant)]
    assert thoughts[0] == (Thinking(thinking="hm"),)
    assert inspected("cursor", *lines)["output"] == "x"
    unfinished = events_of("cursor", thinking("delta", text="h"))[-1]
    assert isinstance(unfinished, Assistant)


def test_noise_between_deltas_does_not_split_a_message() -> None:
    first, second = message("He", timestamp_ms=1), message("llo", timestamp_ms=2)
    assert inspected("cursor", first, "noise", second, RESULT)["output"] == "Hello"


def test_a_failed_run_has_no_result_and_its_reason_on_stderr() -> None:
    result = inspected("cursor", INIT, message("half"), ending=Ending(exit_code=1, stderr="Error: not logged in"))
    assert (result["error"], result["error_category"], result["results"]) == ("Error: not logged in", "process", 0)
    assert result["output"] == "half"


def test_content_that_is_not_text_is_left_as_it_is() -> None:
    plain = {"type": "assistant", "message": {"role": "assistant", "content": "a string"}}
    result = inspected("cursor", plain, {"type": "assistant", "message": 5}, RESULT)
    assert (result["error"], result["results"]) == (None, 1)

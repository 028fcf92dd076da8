"""Cursor's tool calls: names, arguments, results and refusals."""

from __future__ import annotations

from typing import Any

import pytest

from bridle.wire.dialects.cursor_tools import ToolCall, is_denied, output_of, parse_tool_call


@pytest.mark.parametrize(
    ("value", "call"),
    [
        ({"readToolCall": {"args": {"path": "a"}}}, ToolCall("Read", {"path": "a"}, {})),
        ({"shellToolCall": {"args": {"command": "ls"}}}, ToolCall("Bash", {"command": "ls"}, {})),
        ({"lsToolCall": {"args": "none", "result": 5}}, ToolCall("LS", {}, {})),
        (
            {"mcpToolCall": {"args": {"providerIdentifier": "calc", "toolName": "add"}}},
            ToolCall("mcp__calc__add", {"providerIdentifier": "calc", "toolName": "add"}, {}),
        ),
        ({"function": {"name": "grep", "arguments": '{"q": "x"}'}}, ToolCall("grep", {"q": "x"}, {})),
        ({"function": {"arguments": "not JSON"}}, ToolCall("function", {}, {})),
        ({"other": {}, "readToolCall": "text"}, None),
        ({}, None),
    ],
)
def test_a_call_is_the_object_under_its_tools_key(value: dict[str, Any], call: ToolCall | None) -> None:
    assert parse_tool_call(value) == call


@pytest.mark.parametrize(
    ("result", "output"),
    [
        ({"success": {"content": "text", "stdout": "no"}}, "text"),
        ({"success": {"stdout": "out", "stderr": "err"}}, "out\nerr"),
        ({"error": {"errorMessage": "no such file"}}, "no such file"),
        ({"rejected": "by the user"}, "by the user"),
        ({"success": {"matches": 3}}, '{"matches":3}'),
        ({"success": True}, '{"success":true}'),
        ({}, ""),
    ],
)
def test_the_output_is_the_first_text_of_the_result(result: dict[str, Any], output: str) -> None:
    assert output_of(result) == output


def test_a_rejected_call_is_denied_whatever_else_its_result_has() -> None:
    assert is_denied({"rejected": {}})
    assert is_denied({"success": {}, "permissionDenied": None})
    assert not is_denied({"error": {"message": "rejected"}})

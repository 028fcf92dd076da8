"""Codex items: which tool call each one is, what it printed, and whether it failed."""

from __future__ import annotations

from typing import Any

import pytest

from bridle.wire.dialects.codex_items import TOOLS, Item, Line, output_of
from bridle.wire.events.decode_tolerant import convert


def item(**fields: Any) -> Item:
    return convert({"item": fields}, Line).item


@pytest.mark.parametrize(
    ("fields", "output", "has_failed"),
    [
        ({"type": "command_execution", "aggregated_output": "a\n", "exit_code": 0}, "a\n", False),
        ({"type": "command_execution", "exit_code": 3}, "exit code 3", True),
        ({"type": "command_execution", "status": "declined"}, "declined", True),
        ({"type": "command_execution", "exit_code": 0}, "", False),
        ({"type": "mcp_tool_call", "result": {"content": [{"type": "text"}]}}, [{"type": "text"}], False),
        ({"type": "mcp_tool_call", "status": "failed", "error": {"message": "no server"}}, "no server", True),
        ({"type": "mcp_tool_call", "status": "failed"}, "failed", True),
        ({"type": "file_change", "changes": [{"kind": "add", "path": "a"}, "junk"]}, "add a", False),
        ({"type": "todo_list", "items": [{"text": "x", "completed": True}, {"text": "y"}]}, "[x] x\n[ ] y", False),
        ({"type": "web_search", "status": "completed"}, "completed", False),
    ],
)
def test_an_item_has_its_output_and_its_state(fields: dict[str, Any], output: Any, has_failed: bool) -> None:
    read = item(**fields)
    assert (output_of(read), read.has_failed, read.was_declined) == (
        output,
        has_failed,
        fields.get("status") == "declined",
    )


@pytest.mark.parametrize(
    ("fields", "call"),
    [
        ({"type": "command_execution", "command": "ls"}, ("Bash", {"command": "ls"})),
        ({"type": "mcp_tool_call", "server": "s", "tool": "t", "arguments": {"a": 1}}, ("mcp__s__t", {"a": 1})),
        ({"type": "web_search", "query": "q"}, ("WebSearch", {"query": "q"})),
        (
            {"type": "todo_list", "items": [{"text": "x", "completed": True}]},
            ("TodoWrite", {"todos": [{"content": "x", "status": "completed"}]}),
        ),
        (
            {"type": "collab_tool_call", "tool": "spawn_agent", "prompt": "Look\nclosely"},
            ("Task", {"description": "Look", "prompt": "Look\nclosely"}),
        ),
        (
            {"type": "collab_tool_call", "prompt": "p", "receiver_thread_ids": ["a"]},
            ("collab_tool_call", {"prompt": "p", "receiver_thread_ids": ["a"]}),
        ),
    ],
)
def test_an_item_is_a_call_of_the_tool_with_the_same_meaning(fields: dict[str, Any], call: Any) -> None:
    read = item(**fields)
    assert TOOLS[read.type](read) == call

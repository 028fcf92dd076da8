"""A tool of an MCP server that decides about calls: its decisions, and everything that is none."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from bridle.agent.control.prompt_tool import PromptTool
from bridle.agent.permissions.approval import Approved, CallToApprove, Rejected
from bridle.agent.permissions.rules.policy import NeedsApproval
from bridle.agent.tools.contract.tool import ContentBlock, ToolResult

CALL = CallToApprove("toolu_1", "Bash", {"command": "ls"}, NeedsApproval("needs approval"))


class Decides:
    """A tool with one answer, which keeps what it was asked."""

    name, description, schema, input_type = "mcp__gate__decide", "Decides", {"type": "object"}, dict
    title, server_title = "Decide", None

    def __init__(self, content: str | list[ContentBlock]) -> None:
        self.content = content
        self.asked: list[Any] = []

    async def run(self, request: Any, *, call_id: str) -> ToolResult:
        self.asked.append((request, call_id))
        return ToolResult(self.content)


def decided(tool: Decides, updates: list[object] | None = None) -> Approved | Rejected:
    prompts = PromptTool(tool.name, lambda: {tool.name: tool}, (updates if updates is not None else []).append)
    return asyncio.run(prompts.approve(CALL))


def test_the_tool_reads_the_call_and_its_decision_holds() -> None:
    allow = json.dumps({"behavior": "allow", "updatedInput": {"command": "pwd"}, "updatedPermissions": [1]})
    tool, updates = Decides([{"type": "text", "text": allow}]), list[object]()
    assert decided(tool, updates) == Approved({"command": "pwd"})
    assert tool.asked == [
        ({"tool_name": "Bash", "input": {"command": "ls"}, "tool_use_id": "toolu_1"}, "toolu_1"),
    ]
    assert updates == [[1]]


def test_a_denial_has_its_message_and_may_end_the_turn() -> None:
    assert decided(Decides('{"behavior": "deny", "message": "no"}')) == Rejected("no")
    assert decided(Decides('{"behavior": "deny", "message": "no", "interrupt": true}')) == Rejected(
        "no", ends_turn=True
    )


@pytest.mark.parametrize(
    "text",
    [
        "words",
        "",
        "5",
        "{}",
        '{"behavior": "perhaps"}',
        '{"behavior": "allow"}',
        '{"behavior": "allow", "updatedInput": 5}',
    ],
)
def test_what_is_no_decision_rejects_the_call(text: str) -> None:
    found = decided(Decides(text))
    assert isinstance(found, Rejected)
    assert found.is_failure
    assert "mcp__gate__decide must return" in found.text


def test_a_tool_that_is_not_there_rejects_the_call_and_names_those_that_are() -> None:
    tool = Decides("")
    found = asyncio.run(PromptTool("mcp__other", lambda: {tool.name: tool}, print).approve(CALL))
    assert isinstance(found, Rejected)
    assert found.is_failure
    assert (
        "mcp__other (passed via --permission-prompt-tool) not found. Available MCP tools: mcp__gate__decide"
        in found.text
    )

"""The interface of a tool: its declaration, its typed input and its result."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol, TypeAlias

import msgspec

from bridle.agent.tools.contract.input_schema import JsonSchema

ContentBlock: TypeAlias = dict[str, Any]
"""A content block of the Messages API, as it is sent."""
AskServerTool: TypeAlias = Callable[[str, str, ContentBlock], Awaitable[list[ContentBlock]]]
"""Sends a request with a system prompt, a question and a tool that the endpoint runs; returns the answer's blocks."""


class ToolResult(msgspec.Struct, frozen=True):
    """The result of one tool call."""

    content: str | list[ContentBlock]
    """What the model reads: text, or blocks (an image)."""
    detail: Any = None
    """`tool_use_result` of the event, for programs that read the stream: an object on success, text on failure."""
    is_error: bool = False
    names_success: bool = False
    """Whether the result block says `is_error: false`; only Bash does."""
    follow_up: tuple[str | ContentBlock, ...] = ()
    """Messages sent to the model right after the result: texts (the body of a skill) or content blocks (a PDF)."""
    reminders: tuple[str, ...] = ()
    """Texts of hooks that are sent to the model after the result and not printed."""
    ends_turn: bool = False
    """Whether this call ends the turn (structured output that matches its schema)."""


def failed_result(text: str) -> ToolResult:
    """Return the result of a valid call that failed."""
    return ToolResult(text, detail=f"Error: {text}", is_error=True)


def rejected_call(text: str) -> ToolResult:
    """Return the result of an invalid call, which the model must correct."""
    return ToolResult(f"<tool_use_error>{text}</tool_use_error>", detail=f"Error: {text}", is_error=True)


def as_block(item: str | ContentBlock) -> ContentBlock:
    """Return an item of `follow_up` as a content block."""
    return {"type": "text", "text": item} if isinstance(item, str) else item


class PathInput(msgspec.Struct, frozen=True, kw_only=True):
    """The input of a tool that uses a file or a folder."""

    resolved: str = ""
    """The path that the permission check resolved and allowed; `run_tool` sets it, so it is never from the model."""


class ToolRunner(Protocol):
    """Runs the calls of a tool. They run concurrently, and each of them may be cancelled at any await."""

    @property
    def input_type(self) -> type:
        """The record that its input is decoded into."""

    async def run(self, request: Any, *, call_id: str) -> ToolResult:
        """Execute a permitted call; `request` is an `input_type`."""


class Tool(ToolRunner, Protocol):
    """A tool that the model is offered."""

    @property
    def name(self) -> str:
        """The name that the model calls it by."""

    @property
    def description(self) -> str:
        """The description that the model reads; the text is ours."""

    @property
    def schema(self) -> JsonSchema:
        """The JSON Schema of its input, as recorded from Claude Code."""


async def run_tool(
    tool: Tool, arguments: Mapping[str, Any], *, call_id: str, resolved: str | None = None
) -> ToolResult:
    """Decode validated arguments into the tool's record and run the tool; `resolved` is the path that was allowed."""
    request: Any = msgspec.convert(arguments, tool.input_type)
    if isinstance(request, PathInput):
        request = msgspec.structs.replace(request, resolved=resolved or "")
    return await tool.run(request, call_id=call_id)

"""Codex lines and items as structs, and the tool call and output of an item."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from msgspec import Struct

from bridle.wire.events.decode_tolerant import convert
from bridle.wire.events.loose_json import JsonObject

ToolCall: TypeAlias = tuple[str, JsonObject]
"""A tool's name and its arguments."""


class Error(Struct, frozen=True):
    """An error with its message."""

    message: str | None = None


class McpResult(Struct, frozen=True):
    """The result of an MCP tool: content blocks."""

    content: list[Any] = []


class Change(Struct, frozen=True):
    """A changed file."""

    kind: str | None = None
    path: str | None = None


class Todo(Struct, frozen=True):
    """An entry of a to-do list."""

    text: str = ""
    completed: bool = False


class Item(Struct, frozen=True):
    """A message, a reasoning text, an error or a tool call; each type has some of these fields."""

    id: str | None = None
    type: str | None = None
    text: str | None = None
    message: str | None = None
    status: str | None = None
    command: str = ""
    aggregated_output: str = ""
    exit_code: int | None = None
    changes: list[Any] = []
    server: str = ""
    tool: str = ""
    arguments: JsonObject = {}
    result: McpResult | None = None
    error: Error | None = None
    query: str = ""
    items: tuple[Todo, ...] = ()
    prompt: str = ""
    receiver_thread_ids: list[Any] = []

    @property
    def has_failed(self) -> bool:
        """Whether the item failed, by its status or a command's exit code."""
        return self.status in ("failed", "declined") or self.exit_code not in (0, None)

    @property
    def was_declined(self) -> bool:
        """Whether permission for the item was refused."""
        return self.status == "declined"


class Counts(Struct, frozen=True):
    """The tokens of a turn; input tokens include the cached ones."""

    input_tokens: Any = None
    cached_input_tokens: Any = None
    cache_write_input_tokens: Any = None
    output_tokens: Any = None
    reasoning_output_tokens: Any = None


class Line(Struct, frozen=True):
    """One line of `codex exec --json`; each type has some of these fields."""

    type: str | None = None
    thread_id: str | None = None
    message: str | None = None
    error: Error | str | None = None
    usage: Counts | None = None
    item: Item = Item()
    call_id: str | None = None
    questions: Any = None


def output_of(item: Item) -> Any:
    """Return a tool's output: text, or the content blocks of an MCP server."""
    status = item.status or ""
    match item.type:
        case "command_execution":
            exit_text = f"exit code {item.exit_code}" if item.exit_code else status
            return item.aggregated_output or (exit_text if item.has_failed else "")
        case "mcp_tool_call":
            content = item.result.content if item.result is not None else []
            return content or (item.error.message if item.error is not None else None) or status
        case "file_change":
            changes = (convert(change, Change) for change in item.changes if isinstance(change, dict))
            return "\n".join(f"{change.kind} {change.path}" for change in changes)
        case "todo_list":
            return "\n".join(f"[{'x' if todo.completed else ' '}] {todo.text}" for todo in item.items)
    return status


def _todo_list(item: Item) -> ToolCall:
    todos = ({"content": todo.text, "status": "completed" if todo.completed else "pending"} for todo in item.items)
    return "TodoWrite", {"todos": list(todos)}


def _collab(item: Item) -> ToolCall:
    tool = item.tool or "collab_tool_call"
    if tool == "spawn_agent":
        return "Task", {"description": item.prompt.partition("\n")[0], "prompt": item.prompt}
    return tool, {"prompt": item.prompt, "receiver_thread_ids": item.receiver_thread_ids}


TOOLS: dict[str | None, Callable[[Item], ToolCall]] = {
    "command_execution": lambda item: ("Bash", {"command": item.command}),
    "file_change": lambda item: ("file_change", {"changes": item.changes}),
    "mcp_tool_call": lambda item: (f"mcp__{item.server}__{item.tool}", item.arguments),
    "web_search": lambda item: ("WebSearch", {"query": item.query}),
    "todo_list": _todo_list,
    "collab_tool_call": _collab,
}
"""The tool call of each item type that is one."""

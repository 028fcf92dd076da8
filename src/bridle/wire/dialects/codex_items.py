"""Codex items that are tool calls: the name, the arguments and the answer that each stands for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from bridle.wire.dialects.tolerant_fields import listing, mapping, text, whole

Call: TypeAlias = tuple[str, dict[str, Any]]
"""A tool's name and its arguments."""


def _command(item: dict[str, Any]) -> Call:
    return "Bash", {"command": text(item, "command") or ""}


def _file_change(item: dict[str, Any]) -> Call:
    return "file_change", {"changes": listing(item, "changes")}


def _mcp(item: dict[str, Any]) -> Call:
    name = f"mcp__{text(item, 'server') or ''}__{text(item, 'tool') or ''}"
    return name, mapping(item, "arguments")


def _web_search(item: dict[str, Any]) -> Call:
    return "WebSearch", {"query": text(item, "query") or ""}


def _todo_list(item: dict[str, Any]) -> Call:
    return "TodoWrite", {"todos": _todos(item)}


def _collab(item: dict[str, Any]) -> Call:
    tool, prompt = text(item, "tool") or "collab_tool_call", text(item, "prompt") or ""
    if tool == "spawn_agent":
        return "Task", {"description": prompt.partition("\n")[0], "prompt": prompt}
    return tool, {"prompt": prompt, "receiver_thread_ids": listing(item, "receiver_thread_ids")}


TOOLS: dict[str | None, Callable[[dict[str, Any]], Call]] = {
    "command_execution": _command,
    "file_change": _file_change,
    "mcp_tool_call": _mcp,
    "web_search": _web_search,
    "todo_list": _todo_list,
    "collab_tool_call": _collab,
}


def went_wrong(item: dict[str, Any]) -> bool:
    """Whether the item ended badly, by its state or by a command's exit code."""
    return text(item, "status") in ("failed", "declined") or whole(item, "exit_code") not in (0, None)


def refused(item: dict[str, Any]) -> bool:
    """Whether permission for it was refused."""
    return text(item, "status") == "declined"


def output_of(item: dict[str, Any]) -> Any:
    """What the tool answered: text, or the blocks of an MCP server."""
    match text(item, "type"):
        case "command_execution":
            return text(item, "aggregated_output") or _exit_words(item)
        case "mcp_tool_call":
            content = listing(mapping(item, "result"), "content")
            return content or text(mapping(item, "error"), "message") or text(item, "status") or ""
        case "file_change":
            return "\n".join(f"{text(change, 'kind')} {text(change, 'path')}" for change in _objects(item, "changes"))
        case "todo_list":
            return "\n".join(
                f"[{'x' if todo['status'] == 'completed' else ' '}] {todo['content']}" for todo in _todos(item)
            )
    return text(item, "status") or ""


def _exit_words(item: dict[str, Any]) -> str:
    code = whole(item, "exit_code")
    return f"exit code {code}" if code else text(item, "status") or "" if went_wrong(item) else ""


def _todos(item: dict[str, Any]) -> list[dict[str, str]]:
    return [
        {
            "content": text(todo, "text") or "",
            "status": "completed" if todo.get("completed") is True else "pending",
        }
        for todo in _objects(item, "items")
    ]


def _objects(item: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return [each for each in listing(item, name) if isinstance(each, dict)]

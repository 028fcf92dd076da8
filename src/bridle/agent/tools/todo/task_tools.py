"""The four tools that work on the list of tasks which a model keeps for itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from bridle.agent.tools.contract.input_schema import input_schema
from bridle.agent.tools.contract.tool import Tool, ToolResult
from bridle.agent.tools.todo.task_items import Item, TaskItems

_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": {"type": "string"}}
_METADATA = {"type": "object", "propertyNames": {"type": "string"}, "additionalProperties": {}}
_NOT_FOUND = "Task not found"


def task_list_tools(items: TaskItems | None = None) -> list[Tool]:
    """The four tools on one list."""
    kept = items or TaskItems()
    return [TaskCreate(kept), TaskGet(kept), TaskList(kept), TaskUpdate(kept)]


class TaskCreate:
    """Adds a task."""

    name = "TaskCreate"
    description = (
        "Add a task to the list that you keep for this session. Use it to plan work of three or more steps. subject "
        "says what to do in a few words, description says enough to do it later, activeForm is shown while it is "
        "worked on. A new task is pending."
    )
    schema: ClassVar[dict[str, Any]] = input_schema(
        {"subject": _TEXT, "description": _TEXT, "activeForm": _TEXT, "metadata": _METADATA},
        ["subject", "description"],
    )

    def __init__(self, items: TaskItems) -> None:
        self._items = items

    async def run(self, arguments: Mapping[str, Any], *, call_id: str) -> ToolResult:  # noqa: ARG002  # every tool is given it
        """Add it and tell its number."""
        item = self._items.add(arguments["subject"], arguments["description"])
        item.active_form = arguments.get("activeForm")
        item.metadata = dict(arguments.get("metadata") or {})
        detail = {"task": {"id": item.id, "subject": item.subject}}
        return ToolResult(f"Task #{item.id} created successfully: {item.subject}", detail=detail)


class TaskGet:
    """Shows one task."""

    name = "TaskGet"
    description = "Get one task of your list with its description, its status and what it waits for or holds up."
    schema: ClassVar[dict[str, Any]] = input_schema({"taskId": _TEXT}, ["taskId"])

    def __init__(self, items: TaskItems) -> None:
        self._items = items

    async def run(self, arguments: Mapping[str, Any], *, call_id: str) -> ToolResult:  # noqa: ARG002  # every tool is given it
        """Show it."""
        item = self._items.find(arguments["taskId"])
        if item is None:
            return ToolResult(_NOT_FOUND, detail={"task": None})
        lines = [f"Task #{item.id}: {item.subject}", f"Status: {item.status}", f"Description: {item.description}"]
        if item.blocked_by:
            lines.append(f"Blocked by: {_numbers(item.blocked_by)}")
        if item.blocks:
            lines.append(f"Blocks: {_numbers(item.blocks)}")
        words = {"id": item.id, "subject": item.subject, "description": item.description, "status": item.status}
        links = {"blocks": list(item.blocks), "blockedBy": list(item.blocked_by)}
        return ToolResult("\n".join(lines), detail={"task": {**words, **links}})


class TaskList:
    """Shows the list."""

    name = "TaskList"
    description = "Show every task of your list with its number, its status, its owner and what it still waits for."
    schema: ClassVar[dict[str, Any]] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {},
        "additionalProperties": False,
    }

    def __init__(self, items: TaskItems) -> None:
        self._items = items

    async def run(self, arguments: Mapping[str, Any], *, call_id: str) -> ToolResult:  # noqa: ARG002  # every tool is given both
        """Show it."""
        items = self._items.all()
        lines = [self._line(item) for item in items]
        return ToolResult("\n".join(lines) or "No tasks found", detail={"tasks": [self._entry(item) for item in items]})

    def _line(self, item: Item) -> str:
        owner = f" ({item.owner})" if item.owner else ""
        waits = self._items.open_blockers(item)
        return f"#{item.id} [{item.status}] {item.subject}{owner}" + (
            f" [blocked by {_numbers(waits)}]" if waits else ""
        )

    def _entry(self, item: Item) -> dict[str, Any]:
        entry: dict[str, Any] = {"id": item.id, "subject": item.subject, "status": item.status}
        if item.owner:
            entry["owner"] = item.owner
        return {**entry, "blockedBy": self._items.open_blockers(item)}


class TaskUpdate:
    """Changes a task."""

    name = "TaskUpdate"
    description = (
        "Change a task of your list by its number: its status (pending, in_progress, completed; deleted takes it off "
        "the list), its words, its owner, its metadata (a key set to null is removed), and the tasks that it holds up "
        "(addBlocks) or waits for (addBlockedBy). Set a task to in_progress when you begin it and to completed only "
        "when it is really done."
    )
    schema: ClassVar[dict[str, Any]] = input_schema(
        {
            "taskId": _TEXT,
            "subject": _TEXT,
            "description": _TEXT,
            "activeForm": _TEXT,
            "status": {
                "anyOf": [
                    {"type": "string", "enum": ["pending", "in_progress", "completed"]},
                    {"type": "string", "const": "deleted"},
                ]
            },
            "addBlocks": _TEXTS,
            "addBlockedBy": _TEXTS,
            "owner": _TEXT,
            "metadata": _METADATA,
        },
        ["taskId"],
    )

    def __init__(self, items: TaskItems) -> None:
        self._items = items

    async def run(self, arguments: Mapping[str, Any], *, call_id: str) -> ToolResult:  # noqa: ARG002  # every tool is given it
        """Change it and name what has changed."""
        task_id, status = arguments["taskId"], arguments.get("status")
        item = self._items.find(task_id)
        if item is None:
            lost = {"success": False, "taskId": task_id, "updatedFields": [], "error": _NOT_FOUND}
            return ToolResult(_NOT_FOUND, detail=lost)
        before = item.status
        if status == "deleted":
            self._items.remove(item)
            changed = ["deleted"]
        else:
            changed = self._items.change(item, arguments)
        detail: dict[str, Any] = {"success": True, "taskId": task_id, "updatedFields": changed}
        if status is not None and status != before:
            detail["statusChange"] = {"from": before, "to": status}
        return ToolResult(f"Updated task #{task_id} {', '.join(changed)}", detail=detail)


def _numbers(ids: list[str]) -> str:
    return ", ".join(f"#{one}" for one in ids)

"""TaskCreate, TaskGet, TaskList and TaskUpdate: the tools of the model's task list."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from bridle.agent.tools.contract.input_schema import JsonSchema, input_schema
from bridle.agent.tools.contract.tool import Tool, ToolResult
from bridle.agent.tools.todo.task_items import TaskItem, TaskItems, TaskUpdateInput

_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": {"type": "string"}}
_METADATA = {"type": "object", "propertyNames": {"type": "string"}, "additionalProperties": {}}
_NOT_FOUND = "Task not found"


def task_list_tools() -> list[Tool]:
    """Return the four tools of one list."""
    items = TaskItems()
    return [TaskCreate(items), TaskGet(items), TaskList(items), TaskUpdate(items)]


class TaskCreateInput(msgspec.Struct, frozen=True, rename="camel"):
    """The input of TaskCreate."""

    subject: str
    description: str
    active_form: str | None = None
    metadata: dict[str, Any] = {}


class TaskCreate:
    """Adds a task."""

    name = "TaskCreate"
    description = (
        "Add a task to your task list for this session. Use it to plan work of three or more steps. subject says what "
        "to do in a few words, description has the details that are needed to do it later, activeForm is shown while "
        "it is in progress. A new task is pending."
    )
    input_type = TaskCreateInput
    schema: ClassVar[JsonSchema] = input_schema(
        {"subject": _TEXT, "description": _TEXT, "activeForm": _TEXT, "metadata": _METADATA},
        ["subject", "description"],
    )

    def __init__(self, items: TaskItems) -> None:
        self.items = items
        """The list; a resumed session restores it."""

    async def run(self, request: TaskCreateInput, *, call_id: str) -> ToolResult:  # noqa: ARG002  # part of the tool interface
        """Add the task and return its number."""
        item = self.items.add(request.subject, request.description, request.active_form, request.metadata)
        detail = {"task": {"id": item.id, "subject": item.subject}}
        return ToolResult(f"Task #{item.id} created successfully: {item.subject}", detail=detail)


class TaskGetInput(msgspec.Struct, frozen=True, rename="camel"):
    """The input of TaskGet."""

    task_id: str


class TaskGet:
    """Returns one task."""

    name = "TaskGet"
    description = "Get one task of your list: its description, status, and the tasks that it blocks or that block it."
    input_type = TaskGetInput
    schema: ClassVar[JsonSchema] = input_schema({"taskId": _TEXT}, ["taskId"])

    def __init__(self, items: TaskItems) -> None:
        self._items = items

    async def run(self, request: TaskGetInput, *, call_id: str) -> ToolResult:  # noqa: ARG002  # part of the tool interface
        item = self._items.find(request.task_id)
        if item is None:
            return ToolResult(_NOT_FOUND, detail={"task": None})
        lines = [f"Task #{item.id}: {item.subject}", f"Status: {item.status}", f"Description: {item.description}"]
        if item.blocked_by:
            lines.append(f"Blocked by: {_numbers(item.blocked_by)}")
        if item.blocks:
            lines.append(f"Blocks: {_numbers(item.blocks)}")
        fields = {"id": item.id, "subject": item.subject, "description": item.description, "status": item.status}
        links = {"blocks": list(item.blocks), "blockedBy": list(item.blocked_by)}
        return ToolResult("\n".join(lines), detail={"task": {**fields, **links}})


class TaskListInput(msgspec.Struct, frozen=True):
    """The input of TaskList, which has no fields."""


class TaskList:
    """Returns the list."""

    name = "TaskList"
    description = "List your tasks with number, status, owner and open blockers."
    input_type = TaskListInput
    schema: ClassVar[JsonSchema] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {},
        "additionalProperties": False,
    }

    def __init__(self, items: TaskItems) -> None:
        self._items = items

    async def run(self, request: TaskListInput, *, call_id: str) -> ToolResult:  # noqa: ARG002  # part of the tool interface
        items = self._items.all()
        lines = [self._line(item) for item in items]
        return ToolResult("\n".join(lines) or "No tasks found", detail={"tasks": [self._entry(item) for item in items]})

    def _line(self, item: TaskItem) -> str:
        owner = f" ({item.owner})" if item.owner else ""
        blockers = self._items.open_blockers(item)
        return f"#{item.id} [{item.status}] {item.subject}{owner}" + (
            f" [blocked by {_numbers(blockers)}]" if blockers else ""
        )

    def _entry(self, item: TaskItem) -> dict[str, object]:
        entry: dict[str, object] = {"id": item.id, "subject": item.subject, "status": item.status}
        if item.owner:
            entry["owner"] = item.owner
        return {**entry, "blockedBy": self._items.open_blockers(item)}


class TaskUpdate:
    """Changes a task."""

    name = "TaskUpdate"
    description = (
        "Update a task of your list by its number: its status (pending, in_progress, completed; deleted removes "
        "it), its texts, its owner, its metadata (a key set to null is removed), and the tasks that it blocks "
        "(addBlocks) or waits for (addBlockedBy). Set a task to in_progress when you start it, and "
        "to completed only when it is done."
    )
    input_type = TaskUpdateInput
    schema: ClassVar[JsonSchema] = input_schema(
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

    async def run(self, request: TaskUpdateInput, *, call_id: str) -> ToolResult:  # noqa: ARG002  # part of the tool interface
        """Update the task and return the changed fields."""
        task_id, status = request.task_id, request.status
        item = self._items.find(task_id)
        if item is None:
            detail = {"success": False, "taskId": task_id, "updatedFields": [], "error": _NOT_FOUND}
            return ToolResult(_NOT_FOUND, detail=detail)
        before = item.status
        if status == "deleted":
            self._items.remove(item)
            changed = ["deleted"]
        else:
            changed = self._items.update(item, request)
        self._items.on_changed(self._items)
        updated: dict[str, object] = {"success": True, "taskId": task_id, "updatedFields": changed}
        if status is not None and status != before:
            updated["statusChange"] = {"from": before, "to": status}
        return ToolResult(f"Updated task #{task_id} {', '.join(changed)}", detail=updated)


def _numbers(ids: list[str]) -> str:
    return ", ".join(f"#{item_id}" for item_id in ids)

"""Restores the task list and the to-do list of a resumed session from its calls."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from bridle.agent.tools.todo.task_items import TaskItem, TaskItems, TaskUpdateInput


def restore_task(items: TaskItems, name: str, arguments: dict[str, Any], detail: dict[str, Any]) -> None:
    """Repeat a call of TaskCreate or TaskUpdate that succeeded; any other has no effect."""
    try:
        if name == "TaskCreate":
            _create(items, arguments, detail)
        elif name == "TaskUpdate" and detail.get("success", True):
            _update(items, msgspec.convert(arguments, TaskUpdateInput))
    except msgspec.ValidationError:
        return  # written by another version


def restored_todos(detail: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the to-do list after a call of TodoWrite; a completed one is cleared."""
    sent = detail.get("newTodos")
    todos = [todo for todo in sent if isinstance(todo, dict)] if isinstance(sent, list) else []
    return [] if all(todo.get("status") == "completed" for todo in todos) else todos


class _Created(msgspec.Struct):
    id: Annotated[str, msgspec.Meta(pattern=r"\A[1-9][0-9]{0,8}\Z")]
    """A number: it becomes the name of a file, and a transcript may come from anywhere."""


class _CreateDetail(msgspec.Struct):
    task: _Created


class _CreateInput(msgspec.Struct, rename="camel"):
    subject: str
    description: str = ""
    active_form: str | None = None
    metadata: dict[str, Any] | None = None


def _create(items: TaskItems, arguments: dict[str, Any], detail: dict[str, Any]) -> None:
    sent, created = msgspec.convert(arguments, _CreateInput), msgspec.convert(detail, _CreateDetail).task
    items.restore(
        TaskItem(created.id, sent.subject, sent.description, sent.active_form, metadata=dict(sent.metadata or {}))
    )


def _update(items: TaskItems, update: TaskUpdateInput) -> None:
    item = items.find(update.task_id)
    if item is None:
        return
    if update.status == "deleted":
        items.remove(item)
    else:
        items.update(item, update)

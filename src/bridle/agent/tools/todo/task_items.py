"""The task list that a model keeps for itself, and which tasks block which."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec


class TaskUpdateInput(msgspec.Struct, frozen=True, rename="camel"):
    """The input of TaskUpdate; a field that is None does not change."""

    task_id: str
    subject: str | None = None
    description: str | None = None
    active_form: str | None = None
    status: str | None = None
    add_blocks: list[str] = []
    add_blocked_by: list[str] = []
    owner: str | None = None
    metadata: dict[str, Any] | None = None


# The text fields that an update may set, with their names on the wire, in the order of `updatedFields`.
_TEXT_FIELDS = (
    ("subject", "subject"),
    ("description", "description"),
    ("active_form", "activeForm"),
    ("owner", "owner"),
)


class TaskItem(msgspec.Struct):
    """One task on the list; only TaskUpdate changes it."""

    id: str
    subject: str
    description: str
    active_form: str | None = None
    status: str = "pending"
    owner: str | None = None
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)
    blocks: list[str] = msgspec.field(default_factory=list)
    blocked_by: list[str] = msgspec.field(default_factory=list)


def _ignore(_items: TaskItems) -> None:
    pass


class TaskItems:
    """The tasks of one session by their ids, which count up and are never reused."""

    def __init__(self) -> None:
        self._items: dict[str, TaskItem] = {}
        self.last_id = 0
        """The highest id that a task has or had."""
        self.on_changed: Callable[[TaskItems], None] = _ignore
        """Called after each change, but not when a task is restored."""

    def add(self, subject: str, description: str, active_form: str | None, metadata: dict[str, Any]) -> TaskItem:
        """Append a task to the list."""
        self.last_id += 1
        item = TaskItem(str(self.last_id), subject, description, active_form, metadata=metadata)
        self._items[item.id] = item
        self.on_changed(self)
        return item

    def restore(self, item: TaskItem) -> None:
        """Add a task of an earlier process under its id."""
        self._items[item.id] = item
        if item.id.isdecimal():
            self.last_id = max(self.last_id, int(item.id))

    def find(self, item_id: str) -> TaskItem | None:
        """Return the task of that id."""
        return self._items.get(item_id)

    def all(self) -> list[TaskItem]:
        """Return all tasks, oldest first."""
        return list(self._items.values())

    def remove(self, item: TaskItem) -> None:
        """Remove a task, also from the tasks that it blocks."""
        del self._items[item.id]
        for other in self._items.values():
            other.blocks = [item_id for item_id in other.blocks if item_id != item.id]
            other.blocked_by = [item_id for item_id in other.blocked_by if item_id != item.id]

    def block(self, first: TaskItem, then: TaskItem) -> None:
        """Make one task wait for another."""
        if then.id not in first.blocks:
            first.blocks.append(then.id)
        if first.id not in then.blocked_by:
            then.blocked_by.append(first.id)

    def update(self, item: TaskItem, update: TaskUpdateInput) -> list[str]:
        """Apply an update and return the names of the fields that it changed."""
        changed = [wire_name for name, wire_name in _TEXT_FIELDS if _set(item, name, getattr(update, name))]
        if update.metadata is not None:
            merged = {**item.metadata, **update.metadata}
            item.metadata = {key: value for key, value in merged.items() if value is not None}
            changed.append("metadata")
        if _set(item, "status", update.status):
            changed.append("status")
        for other in (blocked := self._others(item, update.add_blocks)):
            self.block(item, other)
        for other in (blockers := self._others(item, update.add_blocked_by)):
            self.block(other, item)
        return changed + ["blocks"] * bool(blocked) + ["blockedBy"] * bool(blockers)

    def open_blockers(self, item: TaskItem) -> list[str]:
        """Return the ids of the tasks that this one still waits for."""
        return [other for other in item.blocked_by if other in self._items and self._items[other].status != "completed"]

    def _others(self, item: TaskItem, ids: Iterable[str]) -> list[TaskItem]:
        others = (self._items.get(item_id) for item_id in ids)
        return [other for other in others if other is not None and other is not item]


def _set(item: TaskItem, name: str, value: str | None) -> bool:
    if value is None or value == getattr(item, name):
        return False
    setattr(item, name, value)
    return True

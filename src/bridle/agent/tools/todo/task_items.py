"""The list of tasks that a model keeps for itself: what is on it, and what waits for what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

# The fields that a change may set, as the wire names them and as they are called here, in the order they are told.
_WORDS = (("subject", "subject"), ("description", "description"), ("activeForm", "active_form"), ("owner", "owner"))


class Item(msgspec.Struct):
    """One task on the list; changed in place by TaskUpdate alone."""

    id: str
    subject: str
    description: str
    active_form: str | None = None
    status: str = "pending"
    owner: str | None = None
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)
    blocks: list[str] = msgspec.field(default_factory=list)
    blocked_by: list[str] = msgspec.field(default_factory=list)


class TaskItems:
    """The tasks of one session by their ids, which count up and are never used twice."""

    def __init__(self) -> None:
        self._items: dict[str, Item] = {}
        self._last = 0

    def add(self, subject: str, description: str) -> Item:
        """Put a task at the end of the list."""
        self._last += 1
        item = self._items[str(self._last)] = Item(str(self._last), subject, description)
        return item

    def find(self, item_id: str) -> Item | None:
        """The task of that id."""
        return self._items.get(item_id)

    def all(self) -> list[Item]:
        """Every task, oldest first."""
        return list(self._items.values())

    def remove(self, item: Item) -> None:
        """Take a task off the list; nothing waits for it any more."""
        del self._items[item.id]
        for other in self._items.values():
            other.blocks = [one for one in other.blocks if one != item.id]
            other.blocked_by = [one for one in other.blocked_by if one != item.id]

    def block(self, first: Item, then: Item) -> None:
        """Have one task wait for another."""
        if then.id not in first.blocks:
            first.blocks.append(then.id)
        if first.id not in then.blocked_by:
            then.blocked_by.append(first.id)

    def change(self, item: Item, given: Mapping[str, Any]) -> list[str]:
        """Set what is given, and return the names of the fields that are different now."""
        changed = [key for key, name in _WORDS if _set(item, key, name, given)]
        if given.get("metadata") is not None:
            merged = {**item.metadata, **given["metadata"]}
            item.metadata = {key: value for key, value in merged.items() if value is not None}
            changed.append("metadata")
        if _set(item, "status", "status", given):
            changed.append("status")
        for other in (held_up := self._others(item, given.get("addBlocks"))):
            self.block(item, other)
        for other in (waited_for := self._others(item, given.get("addBlockedBy"))):
            self.block(other, item)
        return changed + ["blocks"] * bool(held_up) + ["blockedBy"] * bool(waited_for)

    def open_blockers(self, item: Item) -> list[str]:
        """The tasks that this one still waits for."""
        return [one for one in item.blocked_by if one in self._items and self._items[one].status != "completed"]

    def _others(self, item: Item, ids: Iterable[str] | None) -> list[Item]:
        found = (self._items.get(one) for one in ids or ())
        return [other for other in found if other is not None and other is not item]


def _set(item: Item, key: str, name: str, given: Mapping[str, Any]) -> bool:
    if key not in given or given[key] == getattr(item, name):
        return False
    setattr(item, name, given[key])
    return True

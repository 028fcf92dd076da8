"""Refused tool calls in a result: `permission_denials`, in whatever shape an agent sends it."""

from __future__ import annotations

from typing import Any

UNKNOWN_TOOL = "?"


def denial_entries(value: Any) -> list[Any]:
    """Return the refused calls as sent, one by one; lists in lists are flattened.

    Every entry of a list counts, whatever it is: a refusal in an unknown form is still a refusal.
    """
    if not isinstance(value, list):
        return [value] if value else []
    entries: list[Any] = []
    pending = value[::-1]
    while pending:
        item = pending.pop()
        if isinstance(item, list) and item:
            pending.extend(reversed(item))
        else:
            entries.append(item)
    return entries


def denied_tool(entry: Any) -> str:
    """Return the tool of a refused call."""
    match entry:
        case {"tool_name": str(name)} | str(name) if name:
            return name
    return UNKNOWN_TOOL


def denied_call(entry: Any) -> str | None:
    """Return the id of a refused call, if it has one."""
    match entry:
        case {"tool_use_id": str(call_id)}:
            return call_id
    return None

"""Todo lists: one that is written whole, and one that is kept by creating and updating tasks."""

from __future__ import annotations

import re
from typing import Any

from msgspec.structs import replace

from bridle.wire.transcript.items import Todo, TodoList

KEPT_TODOS = 200  # an order of magnitude above the longest list that a person would read
KEPT_CHARACTERS = 500  # of one entry
_CREATED = re.compile(r"Task #(\S+) created")


def parse_todos(arguments: dict[str, Any]) -> TodoList:
    """The list that a call writes whole."""
    entries = arguments.get("todos")
    entries = entries if isinstance(entries, list) else []
    todos = (Todo(_text(entry, "content"), _status(entry), _id(entry)) for entry in entries[:KEPT_TODOS])
    return TodoList(tuple(todos), max(len(entries) - KEPT_TODOS, 0))


class TaskList:
    """The list that the calls TaskCreate, TaskUpdate and TaskList keep between them."""

    def __init__(self) -> None:
        self._todos: dict[str, Todo] = {}

    def apply(self, name: str, arguments: dict[str, Any], details: Any, output: str) -> TodoList:
        """Take in a call that went well; give the list as it is then."""
        details = details if isinstance(details, dict) else {}
        if name == "TaskCreate":
            self._create(arguments, details, output)
        elif name == "TaskUpdate":
            self._update(arguments)
        else:
            self._replace(details)
        kept = tuple(list(self._todos.values())[:KEPT_TODOS])
        return TodoList(kept, len(self._todos) - len(kept))

    def _create(self, arguments: dict[str, Any], details: dict[str, Any], output: str) -> None:
        found = _CREATED.search(output)
        todo_id = _id(details.get("task")) or (found[1] if found else str(len(self._todos) + 1))
        self._todos[todo_id] = Todo(_text(arguments, "subject"), "pending", todo_id)

    def _update(self, arguments: dict[str, Any]) -> None:
        todo_id = str(arguments.get("taskId", ""))[:KEPT_CHARACTERS]
        todo = self._todos.get(todo_id, Todo(f"task {todo_id}", id=todo_id))
        if arguments.get("status") == "deleted":
            self._todos.pop(todo_id, None)
            return
        status = _status(arguments) if "status" in arguments else todo.status
        self._todos[todo_id] = replace(todo, status=status, text=_text(arguments, "subject") or todo.text)

    def _replace(self, details: dict[str, Any]) -> None:
        entries = details.get("tasks")
        if not isinstance(entries, list):
            return
        todos = [Todo(_text(entry, "subject"), _status(entry), _id(entry)) for entry in entries[:KEPT_TODOS]]
        self._todos = {todo.id or str(place): todo for place, todo in enumerate(todos, 1)}


def _text(entry: Any, name: str) -> str:
    value = entry.get(name) if isinstance(entry, dict) else entry
    return value[:KEPT_CHARACTERS] if isinstance(value, str) else ""


def _status(entry: Any) -> str:
    return _text(entry, "status") if isinstance(entry, dict) and entry.get("status") else "pending"


def _id(entry: Any) -> str | None:
    value = entry.get("id") if isinstance(entry, dict) else None
    return str(value)[:KEPT_CHARACTERS] if isinstance(value, str | int) else None

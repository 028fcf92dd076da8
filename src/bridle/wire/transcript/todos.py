"""To-do lists: one that a call writes whole, and one that calls keep by creating and updating tasks."""

from __future__ import annotations

import re
from typing import Any

from msgspec.structs import replace

from bridle.wire.events.decode_tolerant import convert
from bridle.wire.events.loose_json import JsonObject
from bridle.wire.transcript.items import Todo, TodoList
from bridle.wire.transcript.tool_details import TodoEntry, ToolDetails

KEPT_TODOS = 200  # ten times the longest list that a user would read
KEPT_CHARACTERS = 500  # of one entry
_CREATED = re.compile(r"Task #(\S+) created")


def parse_todos(arguments: JsonObject) -> TodoList | None:
    """Return the list that a call writes whole, or None if its input is not a list of to-dos."""
    values = arguments.get("todos")
    if not isinstance(values, list) or not all(map(_is_todo, values)):
        return None
    entries = [_entry(value) for value in values[:KEPT_TODOS]]
    todos = tuple(Todo(_text(entry.content), _status(entry), _id(entry)) for entry in entries)
    return TodoList(todos, max(len(values) - KEPT_TODOS, 0))


def changes_tasks(name: str, arguments: JsonObject, details: ToolDetails) -> bool:
    """Return whether a call creates, updates or lists tasks as the tool describes it."""
    if name == "TaskCreate":
        return isinstance(arguments.get("subject"), str)
    if name == "TaskUpdate":
        return isinstance(arguments.get("taskId"), str | int) and _has_status(arguments)
    return details.tasks is not None


class TaskList:
    """The list that the calls TaskCreate, TaskUpdate and TaskList keep."""

    def __init__(self) -> None:
        self._todos: dict[str, Todo] = {}

    def apply(self, name: str, arguments: JsonObject, details: ToolDetails, output: str) -> TodoList:
        """Apply a successful call; return the list after it."""
        entry = convert(arguments, TodoEntry)
        if name == "TaskCreate":
            self._create(entry, details.task, output)
        elif name == "TaskUpdate":
            self._update(entry)
        elif details.tasks is not None:
            self._replace(details.tasks)
        shown = tuple(list(self._todos.values())[:KEPT_TODOS])
        return TodoList(shown, len(self._todos) - len(shown))

    def _create(self, entry: TodoEntry, task: Any, output: str) -> None:
        match = _CREATED.search(output)
        todo_id = _id(convert(task, TodoEntry)) or (match[1] if match else str(len(self._todos) + 1))
        self._todos[todo_id] = Todo(_text(entry.subject), "pending", todo_id)

    def _update(self, entry: TodoEntry) -> None:
        todo_id = str(entry.task_id)[:KEPT_CHARACTERS]
        todo = self._todos.get(todo_id, Todo(f"task {todo_id}", id=todo_id))
        if entry.status == "deleted":
            self._todos.pop(todo_id, None)
            return
        status = todo.status if entry.status is None else _status(entry)
        self._todos[todo_id] = replace(todo, status=status, text=_text(entry.subject) or todo.text)

    def _replace(self, values: list[Any]) -> None:
        entries = [_entry(value) for value in values[:KEPT_TODOS]]
        todos = [Todo(_text(entry.subject), _status(entry), _id(entry)) for entry in entries]
        self._todos = {todo.id or str(number): todo for number, todo in enumerate(todos, 1)}


def _is_todo(value: Any) -> bool:
    """Return whether a value is an entry: an object with a text, or a bare string."""
    match value:
        case str() | {"content": str()}:
            return isinstance(value, str) or _has_status(value)
    return False


def _has_status(value: JsonObject) -> bool:
    return isinstance(value.get("status", ""), str | None)


def _entry(value: Any) -> TodoEntry:
    """Return an entry; a bare string is its text."""
    return convert(value, TodoEntry) if isinstance(value, dict) else TodoEntry(content=value, subject=value)


def _text(value: Any) -> str:
    return value[:KEPT_CHARACTERS] if isinstance(value, str) else ""


def _status(entry: TodoEntry) -> str:
    return _text(entry.status) if entry.status else "pending"


def _id(entry: TodoEntry) -> str | None:
    return str(entry.id)[:KEPT_CHARACTERS] if isinstance(entry.id, str | int) else None

"""To-do lists, from the calls that write and update them."""

from __future__ import annotations

from typing import Any

import pytest

from bridle.wire.transcript.items import Todo, TodoList
from bridle.wire.transcript.todos import KEPT_TODOS, TaskList, parse_todos
from bridle.wire.transcript.tool_details import NO_DETAILS, ToolDetails


def test_entries_are_objects_or_bare_texts() -> None:
    entries: list[Any] = [{"content": "a", "status": "completed", "id": 7}, "b", {"content": "c", "status": None}]
    assert parse_todos({"todos": entries}) == TodoList((Todo("a", "completed", "7"), Todo("b"), Todo("c")))
    assert parse_todos({"todos": []}) == TodoList()


@pytest.mark.parametrize("todos", ["none", None, ["a", None], [{"content": 3}], [{"content": "a", "status": 1}]])
def test_what_is_not_a_list_of_entries_is_no_list(todos: Any) -> None:
    assert parse_todos({"todos": todos}) is None
    assert parse_todos({}) is None


def test_a_list_without_end_is_cut_with_a_count() -> None:
    todos = parse_todos({"todos": ["x"] * (KEPT_TODOS + 3)})
    assert todos is not None
    assert (len(todos.todos), todos.omitted) == (KEPT_TODOS, 3)


def test_tasks_are_created_updated_and_deleted_by_their_ids() -> None:
    tasks = TaskList()
    tasks.apply("TaskCreate", {"subject": "first"}, NO_DETAILS, "Task #4 created successfully")
    tasks.apply("TaskCreate", {"subject": "second"}, ToolDetails(task={"id": "9"}), "")
    tasks.apply("TaskUpdate", {"taskId": "4", "status": "completed"}, NO_DETAILS, "")
    assert tasks.apply("TaskUpdate", {"taskId": "5", "status": "in_progress"}, NO_DETAILS, "") == TodoList(
        (Todo("first", "completed", "4"), Todo("second", "pending", "9"), Todo("task 5", "in_progress", "5"))
    )
    assert tasks.apply("TaskUpdate", {"taskId": "4", "status": "deleted"}, NO_DETAILS, "").todos[0].id == "9"


def test_a_listing_replaces_what_was_known() -> None:
    tasks = TaskList()
    tasks.apply("TaskCreate", {"subject": "old"}, NO_DETAILS, "")
    listed = ToolDetails(tasks=[{"id": "2", "subject": "new", "status": "completed"}])
    assert tasks.apply("TaskList", {}, listed, "") == TodoList((Todo("new", "completed", "2"),))

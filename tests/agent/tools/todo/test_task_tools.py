from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from bridle.agent.tools.contract.tool import Tool, ToolResult, run_tool
from bridle.agent.tools.todo.task_items import TaskItems, TaskUpdateInput
from bridle.agent.tools.todo.task_tools import task_list_tools
from bridle.agent.tools.todo.todo_write import TodoWrite
from tests.agent.fixtures.shell_session import recorded

# What Claude Code 2.1.197 answered to these calls, one after the other, on 2026-11-15.
MEASURED: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "fixtures" / "measured" / "task-list.json").read_text("utf-8")
)


def ask(tool: Tool, **arguments: Any) -> ToolResult:
    return asyncio.run(run_tool(tool, arguments, call_id="call_1"))


def tools() -> dict[str, Tool]:
    return {tool.name: tool for tool in task_list_tools()}


def test_a_list_is_kept_as_measured() -> None:
    ours = tools()
    for call in MEASURED:
        answer = ask(ours[call["tool"]], **call["input"])
        assert (answer.content, answer.detail) == (call["content"], call["detail"])
        assert list(answer.detail) == list(call["detail"])
        assert not answer.is_error


def test_a_list_is_kept_as_recorded() -> None:
    ours = tools()
    calls = list(recorded("23-tool-shapes", "TaskCreate", "TaskUpdate", "TaskList", "TaskGet"))
    assert len(calls) == 5
    for call, block, detail in calls:
        answer = ask(ours[call["name"]], **call["input"])
        assert (answer.content, answer.detail) == (block["content"], detail)


def test_a_task_cannot_wait_for_itself_or_twice_for_another() -> None:
    ours = tools()
    for subject in ("a", "b"):
        ask(ours["TaskCreate"], subject=subject, description="")
    assert ask(ours["TaskUpdate"], taskId="1", addBlocks=["1"]).detail["updatedFields"] == []
    ask(ours["TaskUpdate"], taskId="1", addBlocks=["2", "2"])
    ask(ours["TaskUpdate"], taskId="2", addBlockedBy=["1"])
    assert ask(ours["TaskGet"], taskId="2").detail["task"]["blockedBy"] == ["1"]
    assert ask(ours["TaskGet"], taskId="1").detail["task"]["blocks"] == ["2"]


def test_metadata_is_merged_and_a_null_removes_its_key() -> None:
    items = TaskItems()
    item = items.add("a", "", None, {})
    assert items.update(item, TaskUpdateInput(item.id, metadata={"kept": 1, "gone": 2})) == ["metadata"]
    items.update(item, TaskUpdateInput(item.id, metadata={"gone": None, "new": [3]}))
    assert item.metadata == {"kept": 1, "new": [3]}


def test_the_number_of_a_deleted_task_is_not_used_again() -> None:
    ours = tools()
    ask(ours["TaskCreate"], subject="a", description="")
    ask(ours["TaskUpdate"], taskId="1", status="deleted")
    assert ask(ours["TaskCreate"], subject="b", description="").detail["task"]["id"] == "2"
    assert ask(ours["TaskList"]).content == "#2 [pending] b"


def test_todos_are_written_as_recorded() -> None:
    tool = TodoWrite()
    calls = list(recorded("25a-todowrite", "TodoWrite"))
    assert len(calls) == 1
    for call, block, detail in calls:
        answer = ask(tool, **call["input"])
        assert (answer.content, answer.detail) == (block["content"], detail)


@pytest.mark.parametrize(("last", "kept"), [("completed", 0), ("in_progress", 2)])
def test_the_next_todos_follow_on_those_that_are_not_done(last: str, kept: int) -> None:
    tool = TodoWrite()
    done = {"content": "a", "status": "completed", "activeForm": "A"}
    ask(tool, todos=[done, {**done, "status": last}])
    assert len(ask(tool, todos=[done]).detail["oldTodos"]) == kept

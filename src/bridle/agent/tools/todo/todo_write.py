"""The TodoWrite tool: replaces the whole to-do list with each call."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from bridle.agent.tools.contract.input_schema import JsonSchema, input_schema
from bridle.agent.tools.contract.tool import ToolResult

_WRITTEN = (
    "Todos have been modified successfully. Ensure that you continue to use the todo list to track your progress. "
    "Please proceed with the current tasks if applicable"
)


class TodoWriteInput(msgspec.Struct, frozen=True):
    """The input of TodoWrite."""

    todos: list[dict[str, Any]]
    """As sent: the event returns the items with all their fields."""


class TodoWrite:
    """Holds the to-do list of one session."""

    name = "TodoWrite"
    description = (
        "Write the to-do list of this session; each call replaces the whole list. Use it for work of three or more "
        "steps. Every item has content (what to do, in the imperative), activeForm (the same in the present "
        "continuous, shown while it is in progress) and status: pending, in_progress or completed. Keep one item "
        "in_progress, mark it completed as soon as it is done, and add items that you discover."
    )
    input_type = TodoWriteInput
    schema: ClassVar[JsonSchema] = input_schema(
        {
            "todos": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "content": {"type": "string", "minLength": 1},
                        "status": {"type": "string", "enum": ["pending", "in_progress", "completed"]},
                        "activeForm": {"type": "string", "minLength": 1},
                    },
                    "required": ["content", "status", "activeForm"],
                    "additionalProperties": False,
                },
            }
        },
        ["todos"],
    )

    def __init__(self) -> None:
        self.todos: list[dict[str, Any]] = []
        """The list; a resumed session restores it."""

    async def run(self, request: TodoWriteInput, *, call_id: str) -> ToolResult:  # noqa: ARG002  # part of the tool interface
        """Replace the list; a completed list is cleared, so that the next task starts with an empty one."""
        before, todos = self.todos, request.todos
        self.todos = [] if all(todo["status"] == "completed" for todo in todos) else todos
        return ToolResult(_WRITTEN, detail={"oldTodos": before, "newTodos": todos})

"""The TodoWrite tool: the whole list of what is to do, written anew each time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from bridle.agent.tools.contract.input_schema import input_schema
from bridle.agent.tools.contract.tool import ToolResult

_WRITTEN = (
    "Todos have been modified successfully. Ensure that you continue to use the todo list to track your progress. "
    "Please proceed with the current tasks if applicable"
)


class TodoWrite:
    """Keeps the list of one session."""

    name = "TodoWrite"
    description = (
        "Write the list of what is to do in this session; each call replaces the whole list. Use it for work of three "
        "or more steps. Every item has content (what to do, as an order), activeForm (the same as something going on, "
        "shown while it is worked on) and status: pending, in_progress or completed. Keep one item in_progress, mark "
        "it completed as soon as it really is, and add what turns up on the way."
    )
    schema: ClassVar[dict[str, Any]] = input_schema(
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
        self._todos: list[dict[str, Any]] = []

    async def run(self, arguments: Mapping[str, Any], *, call_id: str) -> ToolResult:  # noqa: ARG002  # every tool is given it
        """Replace the list; one that is done is cleared, so that the next work starts with an empty one."""
        before, given = self._todos, [dict(todo) for todo in arguments["todos"]]
        self._todos = [] if all(todo["status"] == "completed" for todo in given) else given
        return ToolResult(_WRITTEN, detail={"oldTodos": before, "newTodos": given})

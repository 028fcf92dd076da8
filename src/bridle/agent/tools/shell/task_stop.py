"""The TaskStop tool: end a background task."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from bridle.agent.tools.contract.tool import ToolResult, rejected_call
from bridle.agent.tools.shell.background import BackgroundTasks


class TaskStop:
    """Ends one task with everything it has started."""

    name = "TaskStop"
    description = (
        "End a task that runs in the background, by its task_id, together with every process it has started. "
        "(shell_id is an old name for task_id.)"
    )
    schema: ClassVar[dict[str, Any]] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {"task_id": {"type": "string"}, "shell_id": {"type": "string"}},
        "additionalProperties": False,
    }

    def __init__(self, background: BackgroundTasks) -> None:
        self._background = background

    async def run(self, arguments: Mapping[str, Any], *, call_id: str) -> ToolResult:  # noqa: ARG002  # every tool is given it
        """Stop it and say so."""
        task_id = arguments.get("task_id") or arguments.get("shell_id")
        if not task_id:
            return rejected_call("Missing required parameter: task_id")
        task = self._background.find(task_id)
        if task is None:
            return rejected_call(f"No task found with ID: {task_id}")
        if task.status != "running":
            return rejected_call(f"Task {task_id} is not running (status: {task.status})")
        await self._background.stop(task)
        detail = {
            "message": f"Successfully stopped task: {task.id} ({task.text})",
            "task_id": task.id,
            "task_type": "local_bash",
            "command": task.text,
        }
        return ToolResult(json.dumps(detail, ensure_ascii=False, separators=(",", ":")), detail=detail)

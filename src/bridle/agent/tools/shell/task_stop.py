"""The TaskStop tool: ends a background task."""

from __future__ import annotations

import json
from typing import ClassVar

import msgspec

from bridle.agent.tools.contract.input_schema import JsonSchema
from bridle.agent.tools.contract.tool import ToolResult, rejected_call
from bridle.agent.tools.shell.background import BackgroundTask, BackgroundTasks
from bridle.agent.tools.shell.task_output import AGENT_TYPE


class TaskStopInput(msgspec.Struct, frozen=True):
    """The input of TaskStop."""

    task_id: str = ""
    shell_id: str = ""


class TaskStop:
    """Ends one task with all its processes."""

    name = "TaskStop"
    description = (
        "End a background task by its task_id, with all processes that it started. "
        "(shell_id is an old name for task_id.)"
    )
    input_type = TaskStopInput
    schema: ClassVar[JsonSchema] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {"task_id": {"type": "string"}, "shell_id": {"type": "string"}},
        "additionalProperties": False,
    }

    def __init__(self, background: BackgroundTasks) -> None:
        self._background = background

    async def run(self, request: TaskStopInput, *, call_id: str) -> ToolResult:  # noqa: ARG002  # part of the tool interface
        task_id = request.task_id or request.shell_id
        if not task_id:
            return rejected_call("Missing required parameter: task_id")
        task = self._background.find(task_id) or self._background.find_agent(task_id)
        if task is None:
            return rejected_call(f"No task found with ID: {task_id}")
        if task.status != "running":
            return rejected_call(f"Task {task_id} is not running (status: {task.status})")
        if isinstance(task, BackgroundTask):
            await self._background.stop(task)
            task_type, text = "local_bash", task.text
        else:
            await task.stop()
            task_type, text = AGENT_TYPE, task.description
        detail = {
            "message": f"Successfully stopped task: {task.id} ({text})",
            "task_id": task.id,
            "task_type": task_type,
            "command": text,
        }
        return ToolResult(json.dumps(detail, ensure_ascii=False, separators=(",", ":")), detail=detail)

"""The TaskOutput tool: what a background task has printed, at once or when it has ended."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, ClassVar

from bridle.agent.tools.contract.input_schema import input_schema
from bridle.agent.tools.contract.tool import ToolResult, rejected_call
from bridle.agent.tools.shell.background import BackgroundTask, BackgroundTasks


class TaskOutput:
    """Gives the state and the output of one task."""

    name = "TaskOutput"
    description = (
        "Get the state and the output of a task that runs in the background, by its task_id. With block true, the "
        "default, it waits until the task has ended or timeout milliseconds (at most 600000) are over; with block "
        "false it says how things are now. A finished task is handed out once."
    )
    schema: ClassVar[dict[str, Any]] = input_schema(
        {
            "task_id": {"type": "string"},
            "block": {"default": True, "type": "boolean"},
            "timeout": {"default": 30000, "type": "number", "minimum": 0, "maximum": 600000},
        },
        ["task_id", "block", "timeout"],
    )

    def __init__(self, background: BackgroundTasks, *, output_characters: int) -> None:
        """Of a longer output the last `output_characters` are shown."""
        self._background = background
        self._output_characters = output_characters

    async def run(self, arguments: Mapping[str, Any], *, call_id: str) -> ToolResult:  # noqa: ARG002  # every tool is given it
        """Wait if asked to, then tell."""
        task = self._background.find(arguments["task_id"])
        if task is None:
            return rejected_call(f"No task found with ID: {arguments['task_id']}")
        outcome = "success" if task.ended.is_set() else "not_ready"
        if arguments["block"] and outcome == "not_ready":
            outcome = await _wait(task, arguments["timeout"] / 1000)
        answer = self._answer(task, outcome)
        if outcome == "success":
            self._background.tell(task)
        return answer

    def _answer(self, task: BackgroundTask, outcome: str) -> ToolResult:
        shown = self._shown(task)
        fields = [
            ("retrieval_status", outcome),
            ("task_id", task.id),
            ("task_type", "local_bash"),
            ("status", task.status),
        ]
        if task.exit_code is not None:
            fields.append(("exit_code", str(task.exit_code)))
        if shown.strip():
            fields.append(("output", f"\n{shown.rstrip()}\n"))
        described = {
            "task_id": task.id,
            "task_type": "local_bash",
            "status": task.status,
            "description": task.description,
            "output": shown,
            "exitCode": task.exit_code,
        }
        text = "\n\n".join(f"<{name}>{value}</{name}>" for name, value in fields)
        return ToolResult(text, detail={"retrieval_status": outcome, "task": described})

    def _shown(self, task: BackgroundTask) -> str:
        tail = task.spool.tail()
        if task.spool.characters <= self._output_characters:
            return tail
        note = f"[Truncated. Full output: {task.spool.path}]\n\n"
        return note + tail[-max(self._output_characters - len(note), 0) :]


async def _wait(task: BackgroundTask, seconds: float) -> str:
    try:
        async with asyncio.timeout(seconds):
            await task.ended.wait()
    except TimeoutError:
        return "timeout"
    return "success"

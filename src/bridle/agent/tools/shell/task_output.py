"""The TaskOutput tool: returns the state and output of a background task."""

from __future__ import annotations

import asyncio
from typing import ClassVar

import msgspec

from bridle.agent.tools.contract.input_schema import JsonSchema, input_schema
from bridle.agent.tools.contract.tool import ToolResult, rejected_call
from bridle.agent.tools.shell.background import AgentTask, BackgroundTask, BackgroundTasks

AGENT_TYPE = "local_agent"


class TaskOutputInput(msgspec.Struct, frozen=True):
    """The input of TaskOutput."""

    task_id: str
    block: bool = True
    timeout: int | float = 30000
    """In milliseconds."""


class TaskOutput:
    """Returns the state and output of one task."""

    name = "TaskOutput"
    description = (
        "Get the state and output of a background task by its task_id. With block true (the default) it waits until "
        "the task ends or timeout milliseconds (at most 600000) have passed; with block false it returns the current "
        "state. The result of a finished task is returned once."
    )
    input_type = TaskOutputInput
    schema: ClassVar[JsonSchema] = input_schema(
        {
            "task_id": {"type": "string"},
            "block": {"default": True, "type": "boolean"},
            "timeout": {"default": 30000, "type": "number", "minimum": 0, "maximum": 600000},
        },
        ["task_id", "block", "timeout"],
    )

    def __init__(self, background: BackgroundTasks, *, output_characters: int) -> None:
        """Show the last `output_characters` of a longer output."""
        self._background = background
        self._output_characters = output_characters

    async def run(self, request: TaskOutputInput, *, call_id: str) -> ToolResult:  # noqa: ARG002  # part of the tool interface
        """Wait if requested, then return the task's state."""
        task = self._background.find(request.task_id) or self._background.find_agent(request.task_id)
        if task is None:
            return rejected_call(f"No task found with ID: {request.task_id}")
        outcome = "success" if task.ended.is_set() else "not_ready"
        if request.block and outcome == "not_ready":
            outcome = await _wait(task, request.timeout / 1000)
        result = self._result(task, outcome) if isinstance(task, BackgroundTask) else _agent_result(task, outcome)
        if outcome == "success":
            self._background.mark_reported(task)
        return result

    def _result(self, task: BackgroundTask, outcome: str) -> ToolResult:
        output = self._format_output(task)
        fields = [
            ("retrieval_status", outcome),
            ("task_id", task.id),
            ("task_type", "local_bash"),
            ("status", task.status),
        ]
        if task.exit_code is not None:
            fields.append(("exit_code", str(task.exit_code)))
        if output.strip():
            fields.append(("output", f"\n{output.rstrip()}\n"))
        described = {
            "task_id": task.id,
            "task_type": "local_bash",
            "status": task.status,
            "description": task.description,
            "output": output,
            "exitCode": task.exit_code,
        }
        text = "\n\n".join(f"<{name}>{value}</{name}>" for name, value in fields)
        return ToolResult(text, detail={"retrieval_status": outcome, "task": described})

    def _format_output(self, task: BackgroundTask) -> str:
        tail = task.spool.tail()
        if task.spool.characters <= self._output_characters:
            return tail
        note = f"[Truncated. Full output: {task.spool.path}]\n\n"
        return note + tail[-max(self._output_characters - len(note), 0) :]


def _agent_result(agent: AgentTask, outcome: str) -> ToolResult:
    output = agent.output()
    fields = [
        ("retrieval_status", outcome),
        ("task_id", agent.id),
        ("task_type", AGENT_TYPE),
        ("status", agent.status),
        *([("output", f"\n{output.rstrip()}\n")] if output.strip() else []),
    ]
    described = {
        "task_id": agent.id,
        "task_type": AGENT_TYPE,
        "status": agent.status,
        "description": agent.description,
        "output": output,
        **agent.details(),
    }
    text = "\n\n".join(f"<{name}>{value}</{name}>" for name, value in fields)
    return ToolResult(text, detail={"retrieval_status": outcome, "task": described})


async def _wait(task: BackgroundTask | AgentTask, seconds: float) -> str:
    try:
        async with asyncio.timeout(seconds):
            await task.ended.wait()
    except TimeoutError:
        return "timeout"
    return "success"

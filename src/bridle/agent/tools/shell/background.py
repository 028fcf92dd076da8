"""Background tasks: commands that run beside the conversation and are reported when they end."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

import msgspec

from bridle.agent.tools.shell.output_spool import OutputSpool
from bridle.agent.tools.shell.running_command import RunningCommand
from bridle.agent.tools.shell.shell import Shell

Status: TypeAlias = Literal["running", "completed", "failed", "killed"]

_LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz"


class TaskStarted(msgspec.Struct, frozen=True):
    """A task was started; printed as `system/task_started`."""

    task_id: str
    call_id: str
    description: str


class TaskFinished(msgspec.Struct, frozen=True):
    """A task has ended; printed as `system/task_updated` and reported to the model unless it already knows."""

    task_id: str
    call_id: str
    description: str
    status: Status
    exit_code: int | None
    output_file: Path
    end_time_ms: int


TaskEvent: TypeAlias = TaskStarted | TaskFinished


class AgentTask(Protocol):
    """A sub-agent in the background; unlike a command it reports its own start and end."""

    id: str
    description: str
    status: Status
    ended: asyncio.Event

    def output(self) -> str:
        """Return the report of the agent so far."""

    def details(self) -> dict[str, Any]:
        """Return what `tool_use_result` says beyond the fields of every task."""

    async def stop(self) -> None:
        """End the agent and everything that it runs."""


class BackgroundTask:
    """One command in the background."""

    def __init__(self, task_id: str, text: str, call_id: str, description: str, command: RunningCommand) -> None:
        self.id = task_id
        self.text = text
        self.call_id = call_id
        self.description = description
        self.status: Status = "running"
        self.exit_code: int | None = None
        self.command = command
        self.ended = asyncio.Event()
        self.watcher: asyncio.Task[None] | None = None

    @property
    def spool(self) -> OutputSpool:
        return self.command.spool


class BackgroundTasks:
    """The background tasks of a session; `events` reports their starts and ends."""

    def __init__(self, shell: Shell, folder: Path, *, tail_characters: int) -> None:
        """Write outputs to files in `folder` and keep the last `tail_characters` of each in memory."""
        self.events: asyncio.Queue[TaskEvent] = asyncio.Queue()
        self.folder = folder
        self._shell = shell
        self._tail_characters = tail_characters
        self._tasks: dict[str, BackgroundTask] = {}
        self._owners: dict[str, BackgroundTasks] = {}
        """The agent that started a command, by the id of the task."""
        self._agents: dict[str, AgentTask] = {}
        self._reported: set[str] = set()

    def with_shell(self, shell: Shell) -> BackgroundTasks:
        """Return the tasks of another shell, that of a sub-agent; their events are reported with these."""
        other = BackgroundTasks(shell, self.folder, tail_characters=self._tail_characters)
        other.events, other._reported, other._agents = self.events, self._reported, self._agents
        other._owners = self._owners
        return other

    @property
    def running(self) -> tuple[BackgroundTask, ...]:
        """The running tasks, oldest first."""
        return tuple(task for task in self._tasks.values() if task.status == "running")

    @property
    def running_agents(self) -> tuple[AgentTask, ...]:
        """The sub-agents that run in the background."""
        return tuple(agent for agent in self._agents.values() if agent.status == "running")

    def find(self, task_id: str) -> BackgroundTask | None:
        """Return the task of that id, until its end was reported to the model."""
        return self._tasks.get(task_id)

    def find_agent(self, task_id: str) -> AgentTask | None:
        """Return the sub-agent of that id."""
        return self._agents.get(task_id)

    def add_agent(self, agent: AgentTask) -> None:
        """Add a sub-agent that has started in the background."""
        self._reported.discard(agent.id)  # an agent that continues is reported again
        self._agents[agent.id] = agent

    def start(self, command: str, *, call_id: str, description: str) -> BackgroundTask:
        """Start a command as a task; raise ProcessError if it cannot start."""
        task_id = new_task_id()
        spool = OutputSpool(self._file(task_id), hold_characters=0, tail_characters=self._tail_characters)
        spool.spill()
        try:
            running = self._shell.start(command, spool)
        except BaseException:
            spool.discard()
            raise
        return self._add(BackgroundTask(task_id, command, call_id, description, running))

    def adopt(
        self, running: RunningCommand, command: str, *, task_id: str, call_id: str, description: str
    ) -> BackgroundTask:
        """Turn a command that exceeded its timeout into a task."""
        running.spool.spill_to(self._file(task_id))
        return self._add(BackgroundTask(task_id, command, call_id, description, running))

    def mark_reported(self, task: BackgroundTask | AgentTask) -> None:
        """Forget a task whose end was reported to the model; it is not reported again."""
        self._reported.add(task.id)
        self._tasks.pop(task.id, None)

    def is_reported(self, task_id: str) -> bool:
        """Return whether the end of the task was reported to the model."""
        return task_id in self._reported

    async def stop(self, task: BackgroundTask) -> None:
        """End a task with all its processes; the result of the call reports it to the model."""
        self.mark_reported(task)
        if task.watcher is not None:
            task.watcher.cancel()
            await asyncio.wait({task.watcher})
        if task.status == "running":  # the watcher was cancelled before it started
            await task.command.end()
            self._finish(task, "killed", None)

    async def stop_command(self, task_id: str) -> bool:
        """End the command of that id, whichever agent started it; return False if none runs."""
        owner = self._owners.get(task_id)
        task = owner.find(task_id) if owner is not None else None
        if owner is None or task is None or task.status != "running":
            return False
        await owner.stop(task)
        return True

    async def stop_commands(self) -> None:
        """End all running commands concurrently."""
        await asyncio.gather(*(self.stop(task) for task in self.running))

    async def stop_all(self) -> None:
        """End all running commands and sub-agents concurrently."""
        await asyncio.gather(self.stop_commands(), *(agent.stop() for agent in self.running_agents))

    def _file(self, task_id: str) -> Path:
        return self.folder / f"{task_id}.output"

    def _add(self, task: BackgroundTask) -> BackgroundTask:
        self._tasks[task.id], self._owners[task.id] = task, self
        self.events.put_nowait(TaskStarted(task.id, task.call_id, task.description))
        task.watcher = asyncio.get_running_loop().create_task(self._watch(task), name=f"task {task.id}")
        return task

    async def _watch(self, task: BackgroundTask) -> None:
        try:
            await task.command.wait(None)
            end = await task.command.finish(moves=False)
        except asyncio.CancelledError:
            await task.command.end()
            self._finish(task, "killed", None)
            return
        self._finish(task, "failed" if end.exit_code else "completed", end.exit_code)

    def _finish(self, task: BackgroundTask, status: Status, exit_code: int | None) -> None:
        task.status, task.exit_code = status, exit_code
        self._owners.pop(task.id, None)
        task.ended.set()
        now_ms = int(time.time() * 1000)
        fields = (task.id, task.call_id, task.description, status, exit_code, task.spool.path, now_ms)
        self.events.put_nowait(TaskFinished(*fields))


def new_task_id() -> str:
    """Return a new task id in Claude Code's form: b and eight letters or digits."""
    return "b" + "".join(_LETTERS[byte % len(_LETTERS)] for byte in os.urandom(8))


def summary(finished: TaskFinished) -> str:
    """Return one line about the end of a task."""
    name = f'Background command "{finished.description}"'
    match finished.status:
        case "completed":
            return f"{name} completed (exit code 0)"
        case "failed":
            return f"{name} failed with exit code {finished.exit_code}"
        case _:
            return finished.description


def notification_fields(finished: TaskFinished) -> Mapping[str, str]:
    """Return the fields of `system/task_notification` besides the ids."""
    if finished.status == "killed":
        return {"status": "stopped", "output_file": "", "summary": finished.description}
    return {"status": finished.status, "output_file": str(finished.output_file), "summary": summary(finished)}


def notification_text(finished: TaskFinished) -> str:
    """Return the message that reports a task's end to the model."""
    return (
        "<task-notification>\n"
        f"<task-id>{finished.task_id}</task-id>\n"
        f"<tool-use-id>{finished.call_id}</tool-use-id>\n"
        f"<output-file>{finished.output_file}</output-file>\n"
        f"<status>{finished.status}</status>\n"
        f"<summary>{_escape(summary(finished))}</summary>\n"
        "</task-notification>"
    )


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")

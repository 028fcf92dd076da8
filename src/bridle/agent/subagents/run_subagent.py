"""Runs one sub-agent: its turn, its task events, and its end, whether its caller waits for it or not."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec

from bridle.agent.conversation.background_events import BackgroundEvents, Notice
from bridle.agent.conversation.model_requests import ModelRequests
from bridle.agent.conversation.model_setup import ConversationOptions, ModelSetup
from bridle.agent.conversation.turn import Turn
from bridle.agent.conversation.turn_result import Ending, TurnCounts
from bridle.agent.sessions.api_messages import text_block
from bridle.agent.stdio.task_events import TaskNotification, TaskPatch, TaskUpdated, TaskUsage
from bridle.agent.subagents.agent_log import AgentLog, coordinator_message, now_ms, started_event
from bridle.agent.subagents.git_worktree import GitWorktree
from bridle.agent.subagents.hooks import AgentHooks
from bridle.agent.subagents.report import final_report, launch_report, notice_text
from bridle.agent.tools.contract.tool import ToolResult
from bridle.agent.tools.shell.background import Status
from bridle.agent.tools.toolbox import Toolbox


class AgentParts(msgspec.Struct, frozen=True):
    """What one sub-agent is made of."""

    log: AgentLog
    setup: ModelSetup
    requests: ModelRequests
    toolbox: Toolbox
    options: ConversationOptions
    hooks: AgentHooks | None
    read_texts: Callable[[], Awaitable[tuple[str, ...]]]
    """Returns what the agent reads after its prompt: the texts of its skills."""
    interrupt_caller: Callable[[], None]
    """Ends the main turn: the host demanded it when it rejected a call of the agent."""
    close: Callable[[], Awaitable[GitWorktree | None]]
    """Ends everything that its calls left running, closes its transcript; returns its worktree if that is kept."""


class Subagent:
    """One sub-agent from its start to its end."""

    def __init__(self, parts: AgentParts) -> None:
        self._parts, self.log = parts, parts.log
        self._model = parts.setup.model.shown
        self._messages: list[str] = []
        self._is_ending = False
        self.is_stopped = False
        """Whether the host ends the agent while its caller waits."""
        self.ended = asyncio.Event()
        """Set when nothing of the agent runs any more and its transcript is closed."""
        self.kept: GitWorktree | None = None
        """The worktree of an agent that has ended and changed something in it."""

    def queue_message(self, text: str) -> bool:
        """Add a message of another agent, to be read before the next request; return False where none will come."""
        if not self._is_ending:
            self._messages.append(text)
        return not self._is_ending

    def announce(self) -> None:
        """Print that the agent starts."""
        self.log.emit(started_event(self.log.identity))

    async def run(self) -> ToolResult:
        """Run the agent while its caller waits; return its report."""
        self.announce()
        try:
            ending = await self._run_turn()
        except BaseException:
            await self._end("killed")
            self._notify("stopped")
            raise
        await self._end("completed")
        self._notify("completed")
        if ending.terminal_reason == "aborted_tools":
            self._parts.interrupt_caller()
        return final_report(self.log, self._model, self.kept)

    async def run_in_background(self) -> Status:
        """Run the agent beside the conversation; return how it ended."""
        try:
            await self._run_turn()
        except asyncio.CancelledError:
            await self._end("killed")
            return "killed"
        except Exception as error:  # noqa: BLE001  # no caller waits for it: the notification reports the failure
            self.log.last_text = f"{type(error).__name__}: {error}"
            await self._end("failed")
            return "failed"
        await self._end("completed")
        return "completed"

    def launch_report(self, output_file: Path) -> ToolResult:
        """Return the result of the call that started the agent in the background."""
        return launch_report(self.log, self._model, output_file)

    async def _run_turn(self) -> Ending:
        parts, log = self._parts, self.log
        contexts = await parts.hooks.begin() if parts.hooks is not None else ()
        texts = (*await parts.read_texts(), *(_reminder(text) for text in contexts))
        prompt_uuid = log.begin([text_block(text) for text in texts])
        while True:
            ending = await self._run_once(prompt_uuid)
            if not self._messages or ending.is_error or ending.terminal_reason == "aborted_tools":
                return ending
            prompt_uuid = log.continue_with(self._messages.pop(0))  # it came after the last call

    async def _run_once(self, prompt_uuid: str) -> Ending:
        parts, log = self._parts, self.log
        counts = TurnCounts(started=time.monotonic())
        turn = Turn(
            log=log,
            requests=parts.requests,
            setup=parts.setup,
            options=parts.options,
            toolbox=parts.toolbox,
            structured=None,
            counts=counts,
            prompt_uuid=prompt_uuid,
            before_result=lambda: None,
            before_request=self._deliver,
            hooks=parts.hooks,
        )
        try:
            return await turn.run()
        except asyncio.CancelledError:
            reports_calls = log.identity.in_background or self.is_stopped
            await (turn.interrupted() if reports_calls else turn.abandon())
            raise
        except BaseException:
            await turn.abandon()
            raise
        finally:
            for denial in counts.denials:
                parts.requests.totals.add_denial(denial)

    def _deliver(self) -> None:
        messages, self._messages = self._messages, []
        for text in messages:
            self.log.midturn(coordinator_message(text), coordinator_message(text))

    async def _end(self, status: str) -> None:
        """End what the agent left running, and print its end."""
        self._is_ending = True
        try:
            self.kept = await self._parts.close()
        finally:
            self.ended.set()
        self.log.emit(TaskUpdated(task_id=self.log.identity.id, patch=TaskPatch(status, now_ms())))

    def _notify(self, status: str) -> None:
        identity = self.log.identity
        self.log.emit(
            TaskNotification(
                task_id=identity.id,
                tool_use_id=identity.call_id,
                status=status,
                output_file="",
                summary=identity.description,
                usage=self.log.progress.usage,
            )
        )


class BackgroundAgent:
    """A sub-agent in the background, as TaskOutput and TaskStop know it."""

    def __init__(self, agent: Subagent, events: BackgroundEvents, output_file: Path) -> None:
        identity = agent.log.identity
        self.id, self.description = identity.id, identity.description
        self.status: Status = "running"
        self.ended = asyncio.Event()
        self.agent, self._events, self._output_file = agent, events, output_file
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start the agent."""
        path = self.agent.log.session.path
        if path is not None:
            _link(self._output_file, path)
        self._task = asyncio.get_running_loop().create_task(self._run(), name=f"agent {self.id}")

    def output(self) -> str:
        """Return the last text of the agent."""
        return self.agent.log.last_text

    def details(self) -> dict[str, Any]:
        """Return the prompt and the report."""
        return {"prompt": self.agent.log.identity.prompt, "result": self.output()}

    async def stop(self) -> None:
        """End the agent, and everything that it runs."""
        if self._task is None or self.ended.is_set():
            return
        self._task.cancel()
        await asyncio.wait({self._task})

    async def _run(self) -> None:
        try:
            self.status = await self.agent.run_in_background()
        except asyncio.CancelledError:  # cancelled before its first step
            self.status = "killed"
        self.ended.set()
        self._report()

    def _report(self) -> None:
        """Print or queue the notification."""
        if self.status == "killed":  # the user or the main agent stopped it
            self.agent.log.emit(self._notification("stopped", self.description, output_file="", usage=None))
            return
        summary = f'Agent "{self.description}" {"finished" if self.status == "completed" else "failed"}'
        usage = self.agent.log.progress.usage
        event = self._notification(self.status, summary, output_file=str(self._output_file), usage=usage)
        text = notice_text(self.agent.log, self.status, summary, self._output_file, usage, self.agent.kept)
        self._events.notify(Notice(event, text))

    def _notification(
        self, status: str, summary: str, *, output_file: str, usage: TaskUsage | None
    ) -> TaskNotification:
        event = TaskNotification(
            task_id=self.id,
            tool_use_id=self.agent.log.identity.call_id,
            status=status,
            output_file=output_file,
            summary=summary,
        )
        if usage is not None:
            event.usage = usage
        return event


def _link(link: Path, target: Path) -> None:
    """Make the output file a link to the transcript; without one the agent still runs."""
    try:
        link.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.symlink(target, link)
    except OSError:
        pass


def _reminder(text: str) -> str:
    return f"<system-reminder>\n{text}\n</system-reminder>"

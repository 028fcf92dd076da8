"""The sub-agents that run now: started, found by their ids, and sent messages."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from bridle.agent.conversation.background_events import BackgroundEvents, PeerMessage
from bridle.agent.subagents.agent_log import AgentIdentity
from bridle.agent.subagents.run_subagent import BackgroundAgent, Subagent
from bridle.agent.tools.contract.tool import ToolResult, failed_result
from bridle.agent.tools.shell.background import BackgroundTasks

STOPPED = "[Request interrupted by user for tool use]"
"""What the caller of an agent reads that the host has stopped."""


class LiveAgents:
    """Runs the sub-agents of a session."""

    def __init__(self, background: BackgroundTasks, events: Callable[[], BackgroundEvents]) -> None:
        self._background, self._events = background, events
        self._running: dict[str, Subagent] = {}
        self._tasks: dict[str, asyncio.Task[object] | None] = {}
        self._reported: dict[str, asyncio.Event] = {}

    def output_file(self, agent_id: str) -> Path:
        """Return the file that links to the transcript of an agent in the background."""
        return self._background.folder / f"{agent_id}.output"

    async def run(self, agent: Subagent) -> ToolResult:
        """Run an agent while its caller waits; return its report, or that it was stopped."""
        agent_id = agent.log.identity.id
        task = asyncio.current_task()
        self._running[agent_id], self._tasks[agent_id] = agent, task
        reported = self._reported[agent_id] = asyncio.Event()
        try:
            # In the task of the call: the agent is announced before what follows the call in the answer.
            return await agent.run()
        except asyncio.CancelledError:
            if task is None or not agent.is_stopped or task.uncancel():
                raise
            return failed_result(STOPPED)
        finally:
            del self._running[agent_id], self._tasks[agent_id], self._reported[agent_id]
            reported.set()

    async def stop(self, agent_id: str) -> None:
        """End the agent of that id and everything that it runs; without a running one nothing happens."""
        if (agent := self._background.find_agent(agent_id)) is not None:
            await agent.stop()
        elif (task := self._tasks.get(agent_id)) is not None:
            reported = self._reported[agent_id]
            self._running[agent_id].is_stopped = True
            task.cancel()
            await reported.wait()

    def start(self, agent: Subagent) -> Path:
        """Start an agent in the background; return its output file."""
        agent.announce()
        output_file = self.output_file(agent.log.identity.id)
        task = BackgroundAgent(agent, self._events(), output_file)
        self._background.add_agent(task)
        task.start()
        return output_file

    def find(self, agent_id: str) -> Subagent | None:
        """Return the running agent of that id."""
        task = self._background.find_agent(agent_id)
        if isinstance(task, BackgroundAgent) and task.status == "running":
            return task.agent
        return self._running.get(agent_id)

    def send_to_main(self, sender: AgentIdentity, text: str) -> None:
        """Send a message of a sub-agent to the main agent."""
        self._events().add_message(PeerMessage(sender.type, sender.id, text))

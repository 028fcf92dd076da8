"""The sub-agents that run now: started, found by their ids, and sent messages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from bridle.agent.conversation.background_events import BackgroundEvents, PeerMessage
from bridle.agent.subagents.agent_log import AgentIdentity
from bridle.agent.subagents.run_subagent import BackgroundAgent, Subagent
from bridle.agent.tools.contract.tool import ToolResult
from bridle.agent.tools.shell.background import BackgroundTasks


class LiveAgents:
    """Runs the sub-agents of a session."""

    def __init__(self, background: BackgroundTasks, events: Callable[[], BackgroundEvents]) -> None:
        self._background, self._events = background, events
        self._running: dict[str, Subagent] = {}

    def output_file(self, agent_id: str) -> Path:
        """Return the file that links to the transcript of an agent in the background."""
        return self._background.folder / f"{agent_id}.output"

    async def run(self, agent: Subagent) -> ToolResult:
        """Run an agent while its caller waits; return its report."""
        self._running[agent.log.identity.id] = agent
        try:
            return await agent.run()
        finally:
            del self._running[agent.log.identity.id]

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

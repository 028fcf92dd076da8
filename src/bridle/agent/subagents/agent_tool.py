"""The Agent tool: starts a sub-agent, and returns its report or that it runs in the background."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import ClassVar

import msgspec

from bridle.agent.permissions.rules.policy import Policy
from bridle.agent.subagents.agent_log import AgentIdentity
from bridle.agent.subagents.builtin import DEFAULT
from bridle.agent.subagents.catalogue import Agents
from bridle.agent.subagents.definitions import WORKTREE, AgentDefinition
from bridle.agent.subagents.git_worktree import GitWorktree, Worktrees
from bridle.agent.subagents.live_agents import LiveAgents
from bridle.agent.subagents.run_subagent import AgentParts, Subagent
from bridle.agent.tools.contract.input_schema import JsonSchema, input_schema
from bridle.agent.tools.contract.tool import ToolResult, failed_result
from bridle.errors import UserError

# An agent at this depth cannot start another one, as measured with Claude Code.
DEPTH_LIMIT = 5
MODELS = ("sonnet", "opus", "haiku", "fable")

MakeParts = Callable[[AgentDefinition, AgentIdentity, str | None, GitWorktree | None], AgentParts]
"""Makes a sub-agent of a definition; the last arguments are the model that the call names, and its own worktree."""


class AgentInput(msgspec.Struct, frozen=True):
    """The input of Agent."""

    description: str
    prompt: str
    subagent_type: str | None = None
    model: str | None = None
    run_in_background: bool = False
    isolation: str | None = None


class AgentTool:
    """Starts sub-agents."""

    name = "Agent"
    description = (
        "Start a sub-agent for a task. It has a context of its own and sees only the prompt, so write down everything"
        " that it must know, and whether it may change files. Its last message is its report, which only you see.\n\n"
        "- description: the task in three to five words.\n"
        "- subagent_type: one of the listed agents; general-purpose if it is missing.\n"
        "- model: another model than the agent's own.\n"
        "- run_in_background: return at once; you are notified when the agent ends.\n"
        "- isolation: worktree for a git worktree of the agent's own; it is kept if the agent changes files.\n\n"
        "Several calls in one message run concurrently. For a single file or a known name, use the other tools: they"
        " are faster."
    )
    input_type = AgentInput
    schema: ClassVar[JsonSchema] = input_schema(
        {
            "description": {"type": "string"},
            "prompt": {"type": "string"},
            "subagent_type": {"type": "string"},
            "model": {"type": "string", "enum": list(MODELS)},
            "run_in_background": {"type": "boolean"},
            "isolation": {"type": "string", "enum": ["worktree", "remote"]},
        },
        ["description", "prompt"],
    )

    def __init__(
        self,
        agents: Agents,
        make: MakeParts,
        live: LiveAgents,
        worktrees: Worktrees,
        *,
        policy: Callable[[], Policy],
        depth: int = 0,
    ) -> None:
        """`depth` is that of the agent that has the tool: 0 for the main agent."""
        self._agents, self._make, self._live = agents, make, live
        self._worktrees, self._policy, self._depth = worktrees, policy, depth

    async def run(self, request: AgentInput, *, call_id: str) -> ToolResult:
        """Run a sub-agent to its end, or start it in the background."""
        name = request.subagent_type or DEFAULT
        definition = self._agents.find(name)
        if definition is None:
            known = ", ".join(agent.name for agent in self._agents.allowed(self._policy()))
            return failed_result(f"Agent type '{name}' not found. Available agents: {known}")
        identity = AgentIdentity(
            id=new_agent_id(),
            type=definition.name,
            description=request.description,
            prompt=request.prompt,
            call_id=call_id,
            depth=self._depth + 1,
            in_background=request.run_in_background or definition.in_background,
        )
        worktree = None
        if request.isolation == WORKTREE or definition.is_isolated:
            try:
                worktree = await self._worktrees.add(f"agent-{identity.id}")
            except UserError as error:
                return failed_result(error.message)
        agent = Subagent(self._make(definition, identity, request.model, worktree))
        if identity.in_background:
            return agent.launch_report(self._live.start(agent))
        return await self._live.run(agent)


def new_agent_id() -> str:
    """Return a new id in Claude Code's form: a and sixteen hexadecimal digits."""
    return "a" + os.urandom(8).hex()

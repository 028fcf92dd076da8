"""Describes a session to its clients: the `init` event and the head of requests."""

from __future__ import annotations

from msgspec import UNSET

from bridle.agent.assemble.mcp_servers import RunServers
from bridle.agent.assemble.prompt import Prompt
from bridle.agent.assemble.run_inputs import RunInputs, plugins_of
from bridle.agent.conversation.message_loop import COMMANDS
from bridle.agent.conversation.model_setup import ModelSetup, RequestHead
from bridle.agent.model.api.credentials import NO_SOURCE, CredentialSource
from bridle.agent.skills.catalogue import Skills
from bridle.agent.stdio.output_events import Init
from bridle.agent.subagents.catalogue import Agents
from bridle.agent.tools.toolbox import Toolbox


class SessionDescription:
    """What clients and the model learn about a session; a host may change the prompt and the MCP servers."""

    def __init__(
        self,
        inputs: RunInputs,
        setup: ModelSetup,
        toolbox: Toolbox,
        skills: Skills,
        agents: Agents,
        servers: RunServers,
        credentials: CredentialSource | None,
    ) -> None:
        self._inputs, self._setup, self._toolbox, self._skills = inputs, setup, toolbox, skills
        self._agents, self._plugins = agents, plugins_of(inputs)
        self.servers = servers
        self.key_source = credentials.source if credentials is not None else NO_SOURCE
        self.prompt = Prompt(inputs, setup)

    def init_event(self) -> Init:
        """Return the `init` event of the session as it is now."""
        return Init(
            cwd=str(self._inputs.cwd),
            tools=["Task" if name == "Agent" else name for name in self._toolbox.names],
            mcp_servers=self.servers.statuses(),
            model=self._setup.model.shown,
            permission_mode=self._setup.policy.mode,
            slash_commands=self._slash_commands(),
            key_source=self.key_source,
            agents=tuple(self._agents.names),
            skills=self._skills.names(),
            plugins=self._skills.plugins(),
            plugin_errors=list(self._plugins.errors) or UNSET,
            plugin_warnings=list(self._plugins.warnings) or UNSET,
            betas=self._inputs.options.betas or UNSET,
        )

    def _slash_commands(self) -> list[str]:
        if not self._inputs.options.has_commands:
            return []
        return [*self._skills.slash_commands(), *COMMANDS, *(command["name"] for command in self.servers.commands())]

    def commands(self) -> list[dict[str, str]]:
        """Return the slash commands with descriptions, for a host."""
        if not self._inputs.options.has_commands:
            return []
        own = [{"name": name, "description": text, "argumentHint": hint} for name, (text, hint) in COMMANDS.items()]
        return [*self._skills.commands(), *own, *self.servers.commands()]

    async def request_head(self) -> RequestHead:
        """Return the blocks that every request begins with."""
        return await self.prompt.head(self._toolbox.names)

"""Describes a session to its clients: the `init` event, the head of requests, and the answers to control requests."""

from __future__ import annotations

from typing import Any

from bridle.agent.assemble.prompt import Prompt
from bridle.agent.assemble.run_inputs import RunInputs
from bridle.agent.conversation.conversation import Conversation
from bridle.agent.conversation.message_loop import COMMANDS
from bridle.agent.conversation.model_setup import ModelSetup, RequestHead
from bridle.agent.conversation.session_hooks import SessionHooks
from bridle.agent.model.api.credentials import NO_SOURCE, CredentialSource
from bridle.agent.skills.catalogue import Skills
from bridle.agent.stdio.event_writer import EventWriter
from bridle.agent.stdio.output_events import Init
from bridle.agent.tools.toolbox import Toolbox


class SessionDescription:
    """What clients and the model learn about a session; a host may change the prompt and the MCP servers."""

    def __init__(
        self,
        inputs: RunInputs,
        setup: ModelSetup,
        toolbox: Toolbox,
        skills: Skills,
        servers: list[dict[str, str]],
        credentials: CredentialSource | None,
        *,
        may_bypass: bool,
        hooks: SessionHooks | None,
    ) -> None:
        self._inputs, self._setup, self._toolbox, self._skills = inputs, setup, toolbox, skills
        self._servers, self._may_bypass, self._hooks = servers, may_bypass, hooks
        self._key_source = credentials.source if credentials is not None else NO_SOURCE
        self._prompt = Prompt(inputs, setup)

    def init_event(self) -> Init:
        """Return the `init` event of the session as it is now."""
        return Init(
            cwd=str(self._inputs.cwd),
            tools=["Task" if name == "Agent" else name for name in self._toolbox.names],
            mcp_servers=list(self._servers),
            model=self._setup.model.shown,
            permission_mode=self._setup.policy.mode,
            slash_commands=[*self._skills.slash_commands(), *COMMANDS] if self._inputs.options.has_commands else [],
            key_source=self._key_source,
            skills=self._skills.names(),
            plugins=self._skills.plugins(),
        )

    async def request_head(self) -> RequestHead:
        """Return the blocks that every request begins with."""
        return await self._prompt.head(self._toolbox.names)

    def handle_control(
        self, conversation: Conversation, writer: EventWriter, request_id: str, request: dict[str, Any]
    ) -> None:
        """Answer a control request of the host; imports late, since only hosts send them."""
        from bridle.agent.assemble.mcp_servers import failed_server
        from bridle.agent.conversation.control_requests import Account, ControlRequests, HostSession
        from bridle.agent.hooks.definitions import host_hooks
        from bridle.wire.control.requests import Initialize
        from bridle.wire.events.events import ControlRequest

        def initialize(request: Initialize) -> None:
            self._prompt.initialize(request.system_prompt, request.append_system_prompt)
            self._servers.extend(failed_server(name) for name in request.sdk_mcp_servers)
            if self._hooks is not None:
                self._hooks.hooks.add(host_hooks(request.hooks))

        session = HostSession(
            commands=self._skills.commands,
            account=Account(api_key_source=self._key_source),
            initialize=initialize,
            mcp_servers=lambda: list(self._servers),
            may_bypass=self._may_bypass,
            environment=self._inputs.environment,
        )
        ControlRequests(conversation, session, writer.output.write).handle(
            ControlRequest(request_id=request_id, request=request)
        )

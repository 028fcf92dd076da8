"""The control requests of the host: which part of the run handles which subtype.

A part that handles requests of its own adds its handlers to `_handlers`; one that applies fields of `initialize` adds
a function to `_applied`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from bridle.agent.assemble.mcp_servers import mcp_handlers
from bridle.agent.assemble.run_inputs import RunInputs
from bridle.agent.assemble.session_description import SessionDescription
from bridle.agent.assemble.subagents import AgentFactory
from bridle.agent.control.host_requests import HostRequests
from bridle.agent.conversation.conversation import Conversation
from bridle.agent.conversation.model_requests import ModelRequests
from bridle.agent.conversation.session_hooks import SessionHooks
from bridle.agent.skills.catalogue import Skills
from bridle.agent.stdio.inbox import Inbox
from bridle.agent.tools.files.known_files import FileMemory
from bridle.agent.tools.shell.background import BackgroundTasks

if TYPE_CHECKING:
    from bridle.agent.control.control_handlers import ControlHandlers, Handler
    from bridle.agent.tools.checkpoints.file_checkpoints import FileCheckpoints
    from bridle.wire.control.control_messages import RequestId
    from bridle.wire.control.requests import Initialize


class HostParts(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of a run that control requests ask about or change."""

    inputs: RunInputs
    conversation: Conversation
    requests: ModelRequests
    description: SessionDescription
    skills: Skills
    background: BackgroundTasks
    memory: FileMemory
    checkpoints: FileCheckpoints | None
    folder: Callable[[], Path]
    """Returns the working folder of the shell."""
    hooks: SessionHooks | None
    factory: AgentFactory
    """Makes the sub-agents."""
    host: HostRequests | None
    """The requests to the host; None if nothing is read from it."""
    may_bypass: bool
    """Whether the host may switch to bypassPermissions."""


class HostControl:
    """Answers the control requests of the host; imports with the first one, since only hosts send them."""

    def __init__(self, parts: HostParts, write: Callable[[bytes], None]) -> None:
        self._parts, self._write = parts, write
        self._made: ControlHandlers | None = None

    def attach(self, inbox: Inbox) -> None:
        """Receive the requests that are read from standard input, and their cancellations."""
        inbox.on_control, inbox.on_cancel = self._handle, self._cancel

    def close(self) -> None:
        """Cancel the requests that run."""
        if self._made is not None:
            self._made.close()

    def _handle(self, request_id: RequestId, request: dict[str, Any]) -> None:
        if self._made is None:
            from bridle.agent.control.control_handlers import ControlHandlers

            self._made = ControlHandlers(self._handlers(), self._write)
        self._made.handle(request_id, request)

    def _cancel(self, request_id: RequestId) -> None:
        if self._made is not None:
            self._made.cancel(request_id)

    def _handlers(self) -> dict[str, Handler]:
        """Return the handler of each subtype."""
        from bridle.agent.host_requests.change_session import SessionChanges
        from bridle.agent.host_requests.context_usage import context_handlers
        from bridle.agent.host_requests.file_requests import FileRequests
        from bridle.agent.host_requests.initialize import Account, OpenedSession, initialize_handlers
        from bridle.agent.host_requests.running_work import running_work_handlers

        parts = self._parts
        conversation, environment = parts.conversation, parts.inputs.environment
        opened = OpenedSession(
            commands=parts.description.commands,
            agents=parts.factory.agents.described,
            account=Account(api_key_source=parts.description.key_source),
            apply=self._applied(),
            environment=environment,
            prompts=lambda: parts.host.prompts if parts.host is not None else [],
        )
        return {
            **initialize_handlers(opened),
            **SessionChanges(conversation, environment, may_bypass=parts.may_bypass).handlers(),
            **context_handlers(parts.requests, conversation.setup, parts.skills),
            **FileRequests(parts.checkpoints, parts.memory, parts.folder).handlers(),
            **running_work_handlers(conversation.inbox, parts.background, parts.factory.stop),
            **mcp_handlers(parts.description.servers),
        }

    def _applied(self) -> tuple[Callable[[Initialize], None], ...]:
        """Return the functions that apply the fields of `initialize`."""
        return (self._apply_prompt, self._apply_servers, self._apply_hooks, self._apply_agents)

    def _apply_prompt(self, sent: Initialize) -> None:
        self._parts.description.prompt.initialize(sent.system_prompt, sent.append_system_prompt)

    def _apply_servers(self, sent: Initialize) -> None:
        if sent.sdk_mcp_servers:
            self._parts.description.servers.made().add_of_host(list(sent.sdk_mcp_servers))

    def _apply_agents(self, sent: Initialize) -> None:
        from bridle.agent.assemble.subagents import host_agents

        self._parts.factory.agents.add(host_agents(sent.agents))
        self._parts.factory.shows_texts = sent.forward_subagent_text

    def _apply_hooks(self, sent: Initialize) -> None:
        from bridle.agent.hooks.definitions import host_hooks

        if self._parts.hooks is not None:
            self._parts.hooks.hooks.add(host_hooks(sent.hooks))

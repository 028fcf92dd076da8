"""Answers the control requests of a host as they come, also during a turn."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

import msgspec
from msgspec import UNSET, UnsetType, field

from bridle.agent.conversation.conversation import Conversation
from bridle.agent.model.api.models import EFFORTS, Model, Thinking, resolve_model
from bridle.agent.permissions.rules.policy import MODES, with_mode
from bridle.agent.sessions.session import new_uuid
from bridle.agent.stdio.output_events import Status
from bridle.errors import UserError
from bridle.wire.control import control_messages
from bridle.wire.control.requests import (
    Initialize,
    Interrupt,
    McpStatus,
    SetMaxThinkingTokens,
    SetModel,
    SetPermissionMode,
    read_request,
)
from bridle.wire.events.encode import encode
from bridle.wire.events.events import ControlRequest, ControlResponse

# The models that a host lists, in this order.
LISTED = ("default", "sonnet", "haiku", "opus", "fable")


class Account(msgspec.Struct, frozen=True, rename="camel"):
    """The credential of the session."""

    token_source: str = "none"  # noqa: S105 -- a word of the protocol
    api_key_source: str = "none"
    api_provider: str = "firstParty"


class ListedModel(msgspec.Struct, kw_only=True, rename="camel"):
    """A model that the user of a host may choose."""

    value: str
    resolved_model: str
    display_name: str
    description: str
    supports_effort: bool | UnsetType = UNSET
    supported_effort_levels: list[str] | UnsetType = UNSET
    supports_adaptive_thinking: bool | UnsetType = UNSET


class InitializeResponse(msgspec.Struct, kw_only=True):
    """The answer to `initialize`."""

    commands: list[dict[str, str]]
    agents: list[str] = field(default_factory=list)
    output_style: str = "default"
    available_output_styles: list[str] = field(default_factory=lambda: ["default"])
    models: list[ListedModel]
    account: Account
    pid: int
    hook_on_failure_supported: bool | UnsetType = UNSET
    hooks_applied: bool | UnsetType = UNSET


class HostSession(msgspec.Struct, frozen=True):
    """What a host learns about the session, and what it may change."""

    commands: Callable[[], list[dict[str, str]]]
    account: Account
    initialize: Callable[[Initialize], None]
    """Applies the settings of the host. Raises UserError if one is invalid."""
    mcp_servers: Callable[[], list[dict[str, str]]]
    may_bypass: bool
    """Whether the host may switch to bypassPermissions."""
    environment: Mapping[str, str]


class ControlRequests:
    """Answers control requests for one conversation."""

    def __init__(self, conversation: Conversation, session: HostSession, write: Callable[[bytes], None]) -> None:
        self._conversation, self._session, self._write = conversation, session, write

    def handle(self, message: ControlRequest) -> None:
        """Answer a request; an unknown one gets an error, and the session continues."""
        match request := read_request(message):
            case Initialize():
                answer = self._initialize(message.request_id, request)
            case Interrupt():
                self._write(encode(control_messages.success(message.request_id)))
                self._conversation.interrupt()
                return
            case SetModel():
                answer = self._set_model(message.request_id, request.model)
            case SetPermissionMode():
                answer = self._set_mode(message.request_id, request.mode)
            case SetMaxThinkingTokens():
                answer = self._set_thinking(message.request_id, request.tokens)
            case McpStatus():
                answer = control_messages.success(message.request_id, {"mcpServers": self._session.mcp_servers()})
            case _:
                answer = control_messages.unsupported(message)
        self._write(encode(answer))
        if isinstance(request, SetPermissionMode) and answer.subtype == control_messages.SUCCESS:
            self._conversation.log.emit(Status(permission_mode=request.mode))

    def _initialize(self, request_id: str, request: Initialize) -> ControlResponse:
        try:
            self._session.initialize(request)
        except UserError as error:
            return control_messages.failure(request_id, error.message)
        answer = InitializeResponse(
            commands=self._session.commands(),
            models=[_listed_model(resolve_model(alias, self._session.environment), alias) for alias in LISTED],
            account=self._session.account,
            pid=os.getpid(),
        )
        if request.hooks:
            answer.hook_on_failure_supported = answer.hooks_applied = True
        return control_messages.success(request_id, msgspec.to_builtins(answer))

    def _set_model(self, request_id: str, name: object) -> ControlResponse:
        if name is not None and not isinstance(name, str):
            return control_messages.failure(request_id, f"model must be a name or null, got {name!r}")
        model = resolve_model(name, self._session.environment)
        self._conversation.setup.model = model
        text = f"<local-command-stdout>Set model to {name or 'default'} ({model.id})</local-command-stdout>"
        self._conversation.log.replay(text, new_uuid())
        return control_messages.success(request_id)

    def _set_mode(self, request_id: str, mode: str) -> ControlResponse:
        if mode not in MODES:
            return control_messages.failure(request_id, f"mode must be one of {', '.join(MODES)}, got {mode!r}")
        if mode == "bypassPermissions" and not self._session.may_bypass:
            return control_messages.failure(
                request_id,
                "Cannot set permission mode to bypassPermissions because the session was not launched with"
                " --dangerously-skip-permissions",
            )
        setup = self._conversation.setup
        setup.policy = with_mode(setup.policy, mode)
        return control_messages.success(request_id, {"mode": mode})

    def _set_thinking(self, request_id: str, tokens: object) -> ControlResponse:
        if tokens is not None and (not isinstance(tokens, int) or isinstance(tokens, bool) or tokens < 0):
            return control_messages.failure(
                request_id, f"max_thinking_tokens must be an integer of at least 0 or null, got {tokens!r}"
            )
        self._conversation.setup.thinking_tokens = tokens
        return control_messages.success(request_id)


def _listed_model(model: Model, alias: str) -> ListedModel:
    listed = ListedModel(
        value=alias,
        resolved_model=model.shown,
        display_name=alias.capitalize(),
        description=f"{model.shown}, {model.context_window // 1000}k tokens of context",
    )
    if model.kind.effort is not None:
        listed.supports_effort = True
        listed.supported_effort_levels = [
            level for level in EFFORTS if level not in ("xhigh", "max") or level in model.kind.top_efforts
        ]
    if model.thinking is Thinking.ADAPTIVE:
        listed.supports_adaptive_thinking = True
    return listed

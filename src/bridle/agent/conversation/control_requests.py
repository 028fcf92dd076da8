"""Control requests of the host: answered as they come, whatever else goes on."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from bridle.agent.conversation.conversation import Conversation
from bridle.agent.model.api.models import EFFORTS, Model, Thinking, resolve_model
from bridle.agent.permissions.rules.policy import MODES, with_mode
from bridle.agent.sessions.session import new_uuid
from bridle.agent.stdio import output_events
from bridle.agent.stdio.input import Asked, Said
from bridle.wire.control import control_messages
from bridle.wire.events.encode import encode
from bridle.wire.events.events import ControlResponse

# The names that a host offers to a person, in this order.
LISTED = ("default", "sonnet", "haiku", "opus", "fable")


class Welcome(msgspec.Struct, frozen=True):
    """What `initialize` is answered with, and what it may change."""

    commands: Callable[[], list[dict[str, str]]]
    account: dict[str, Any]
    accept: Callable[[dict[str, Any]], None]
    """Takes the settings that the host sent; UsageError where one of them is wrong."""
    may_bypass: bool
    environment: Mapping[str, str]


class ControlDesk:
    """Answers control requests for one conversation."""

    def __init__(self, conversation: Conversation, welcome: Welcome, write: Callable[[bytes], None]) -> None:
        self._conversation, self._welcome, self._write = conversation, welcome, write

    def __call__(self, asked: Asked) -> None:
        """Answer a request; one that nobody here knows gets an error, and the session goes on."""
        match asked.subtype:
            case "initialize":
                self._initialize(asked)
            case "interrupt":
                self._answer(control_messages.success(asked.request_id))
                self._conversation.cut()
            case "set_model":
                self._set_model(asked)
            case "set_permission_mode":
                self._set_mode(asked)
            case "set_max_thinking_tokens":
                self._set_thinking(asked)
            case "mcp_status":
                servers = self._conversation.persona.opening().mcp_servers
                self._answer(control_messages.success(asked.request_id, {"mcpServers": servers}))
            case subtype:
                self._fail(asked, f"Unsupported control request subtype: {subtype}")

    def _initialize(self, asked: Asked) -> None:
        from bridle.errors import UserError

        try:
            self._welcome.accept(asked.request)
        except UserError as error:
            self._fail(asked, error.message)
            return
        answer = {
            "commands": self._welcome.commands(),
            "agents": [],
            "output_style": "default",
            "available_output_styles": ["default"],
            "models": [_shown(resolve_model(alias, self._welcome.environment), alias) for alias in LISTED],
            "account": self._welcome.account,
            "pid": os.getpid(),
        }
        self._answer(control_messages.success(asked.request_id, answer))

    def _set_model(self, asked: Asked) -> None:
        wanted = asked.request.get("model")
        if wanted is not None and not isinstance(wanted, str):
            self._fail(asked, "set_model needs the name of a model, or null")
            return
        model = resolve_model(wanted, self._welcome.environment)
        self._conversation.persona.model = model
        said = f"<local-command-stdout>Set model to {wanted or 'default'} ({model.id})</local-command-stdout>"
        self._conversation.replay(Said(said), new_uuid())
        self._answer(control_messages.success(asked.request_id))

    def _set_mode(self, asked: Asked) -> None:
        mode = asked.request.get("mode")
        if mode not in MODES:
            self._fail(asked, f"there is no permission mode {mode!r}: use one of {', '.join(MODES)}")
            return
        if mode == "bypassPermissions" and not self._welcome.may_bypass:
            self._fail(
                asked,
                "Cannot set permission mode to bypassPermissions because the session was not launched with"
                " --dangerously-skip-permissions",
            )
            return
        persona = self._conversation.persona
        persona.policy = with_mode(persona.policy, mode)
        self._answer(control_messages.success(asked.request_id, {"mode": mode}))
        fields = {"status": None, "permissionMode": mode}
        self._conversation.emit(
            output_events.system("status", fields, session_id=self._conversation.session_id, uuid=new_uuid())
        )

    def _set_thinking(self, asked: Asked) -> None:
        tokens = asked.request.get("max_thinking_tokens")
        if tokens is not None and (not isinstance(tokens, int) or isinstance(tokens, bool) or tokens < 0):
            self._fail(asked, "max_thinking_tokens must be a number from 0 up, or null")
            return
        self._conversation.manner = msgspec.structs.replace(self._conversation.manner, thinking_tokens=tokens)
        self._answer(control_messages.success(asked.request_id))

    def _fail(self, asked: Asked, text: str) -> None:
        self._answer(control_messages.failure(asked.request_id, text))

    def _answer(self, answer: ControlResponse) -> None:
        self._write(encode(answer))


def _shown(model: Model, alias: str) -> dict[str, Any]:
    """A model as a host lists it."""
    shown: dict[str, Any] = {
        "value": alias,
        "resolvedModel": model.shown,
        "displayName": alias.capitalize(),
        "description": f"{model.shown}, {model.context_window // 1000}k tokens of context",
    }
    if model.kind.effort is not None:
        efforts = [level for level in EFFORTS if level not in ("xhigh", "max") or level in model.kind.top_efforts]
        shown |= {"supportsEffort": True, "supportedEffortLevels": efforts}
    if model.thinking is Thinking.ADAPTIVE:
        shown["supportsAdaptiveThinking"] = True
    return shown

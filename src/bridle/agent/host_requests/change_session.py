"""Requests that change a running session: interrupt, model, permission mode, thinking."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from bridle.agent.control.control_handlers import Handler, Payload
from bridle.agent.conversation.conversation import Conversation
from bridle.agent.model.api.models import resolve_model
from bridle.agent.permissions.rules.policy import MODES, with_mode
from bridle.agent.sessions.session import new_uuid
from bridle.agent.stdio.output_events import Status
from bridle.errors import UserError
from bridle.wire.control.requests import Interrupt, SetMaxThinkingTokens, SetModel, SetPermissionMode
from bridle.wire.events.decode_tolerant import convert
from bridle.wire.events.loose_json import JsonObject


class SessionChanges:
    """Changes one conversation as its host asks."""

    def __init__(self, conversation: Conversation, environment: Mapping[str, str], *, may_bypass: bool) -> None:
        """`may_bypass` says whether the host may switch to bypassPermissions."""
        self._conversation, self._environment, self._may_bypass = conversation, environment, may_bypass

    def handlers(self) -> dict[str, Handler]:
        """Return the handlers by subtype."""
        return {
            "interrupt": self._interrupt,
            "set_model": self._set_model,
            "set_permission_mode": self._set_mode,
            "set_max_thinking_tokens": self._set_thinking,
        }

    def _interrupt(self, request: JsonObject) -> Payload:
        self._conversation.interrupt()
        if not convert(request, Interrupt).cancel_queued:
            return None
        waiting = self._conversation.inbox.messages
        dropped = [prompt.uuid for prompt in waiting if prompt.uuid is not None]
        waiting.clear()
        return {"still_queued": [], "cancelled": dropped}

    def _set_model(self, request: JsonObject) -> Payload:
        name = convert(request, SetModel).model
        if name is not None and not isinstance(name, str):
            raise UserError(f"model must be a name or null, got {name!r}")
        model = resolve_model(name, self._environment)
        self._conversation.setup.model = model
        text = f"<local-command-stdout>Set model to {name or 'default'} ({model.id})</local-command-stdout>"
        self._conversation.log.replay(text, new_uuid())
        return None

    def _set_mode(self, request: JsonObject) -> Payload:
        mode = convert(request, SetPermissionMode).mode
        if mode not in MODES:
            raise UserError(f"mode must be one of {', '.join(MODES)}, got {mode!r}")
        if mode == "bypassPermissions" and not self._may_bypass:
            raise UserError(
                "Cannot set permission mode to bypassPermissions because the session was not launched with"
                " --dangerously-skip-permissions"
            )
        conversation = self._conversation
        conversation.setup.policy = with_mode(conversation.setup.policy, mode)
        # After the response, as Claude Code prints it.
        asyncio.get_running_loop().call_soon(conversation.log.emit, Status(permission_mode=mode))
        return {"mode": mode}

    def _set_thinking(self, request: JsonObject) -> Payload:
        tokens = convert(request, SetMaxThinkingTokens).max_thinking_tokens
        if tokens is not None and (not isinstance(tokens, int) or isinstance(tokens, bool) or tokens < 0):
            raise UserError(f"max_thinking_tokens must be an integer of at least 0 or null, got {tokens!r}")
        self._conversation.setup.thinking_tokens = tokens
        return None

"""The control requests: one record for each kind, read from the wire and written to it.

The first six go from a host to an agent, the other three from an agent to its host.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from bridle.wire.control.control_messages import request
from bridle.wire.events.events import ControlRequest


@dataclass(frozen=True, slots=True)
class Initialize:
    """The host opens the session: the hooks that it answers itself, and settings."""

    hooks: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    """Everything else that the host sent, by its name on the wire."""

    def to_request(self, request_id: str) -> ControlRequest:
        """The request that asks for this."""
        return request(request_id, "initialize", hooks=self.hooks or None, **self.settings)

    @classmethod
    def from_request(cls, asked: ControlRequest) -> Initialize:
        """Read it from a request."""
        settings = {name: value for name, value in asked.request.items() if name not in ("subtype", "hooks")}
        return cls(hooks=_object(asked.request, "hooks"), settings=settings)

    @property
    def system_prompt(self) -> str | None:
        """The system prompt that replaces the agent's own; the host sends a text or a list of texts."""
        prompt = self.settings.get("systemPrompt")
        if isinstance(prompt, list):
            return "\n".join(part for part in prompt if isinstance(part, str))
        return prompt if isinstance(prompt, str) else None

    @property
    def append_system_prompt(self) -> str | None:
        """The text after the system prompt."""
        return _text(self.settings, "appendSystemPrompt")

    @property
    def sdk_mcp_servers(self) -> tuple[str, ...]:
        """The names of the MCP servers that run inside the host."""
        names = self.settings.get("sdkMcpServers")
        return tuple(str(name) for name in names) if isinstance(names, list | tuple | dict) else ()


@dataclass(frozen=True, slots=True)
class Interrupt:
    """The host wants the turn under way to end."""

    def to_request(self, request_id: str) -> ControlRequest:
        """The request that asks for this."""
        return request(request_id, "interrupt")

    @classmethod
    def from_request(cls, _asked: ControlRequest) -> Interrupt:
        """Read it from a request."""
        return cls()


@dataclass(frozen=True, slots=True)
class SetModel:
    """The host changes the model from the next request on; None stands for the default one."""

    model: object = None
    """As sent: the agent must refuse what is neither a text nor None."""

    def to_request(self, request_id: str) -> ControlRequest:
        """The request that asks for this."""
        return request(request_id, "set_model", model=self.model)

    @classmethod
    def from_request(cls, asked: ControlRequest) -> SetModel:
        """Read it from a request."""
        return cls(model=asked.request.get("model"))


@dataclass(frozen=True, slots=True)
class SetPermissionMode:
    """The host changes the permission mode."""

    mode: str = ""

    def to_request(self, request_id: str) -> ControlRequest:
        """The request that asks for this."""
        return request(request_id, "set_permission_mode", mode=self.mode)

    @classmethod
    def from_request(cls, asked: ControlRequest) -> SetPermissionMode:
        """Read it from a request."""
        return cls(mode=_text(asked.request, "mode") or "")


@dataclass(frozen=True, slots=True)
class SetMaxThinkingTokens:
    """The host changes how many tokens the model may think; None stands for the default."""

    tokens: object = None
    """As sent: the agent must refuse what is neither an integer from 0 up nor None."""

    def to_request(self, request_id: str) -> ControlRequest:
        """The request that asks for this."""
        return request(request_id, "set_max_thinking_tokens", max_thinking_tokens=self.tokens)

    @classmethod
    def from_request(cls, asked: ControlRequest) -> SetMaxThinkingTokens:
        """Read it from a request."""
        return cls(asked.request.get("max_thinking_tokens"))


@dataclass(frozen=True, slots=True)
class McpStatus:
    """The host asks how the MCP servers are."""

    def to_request(self, request_id: str) -> ControlRequest:
        """The request that asks for this."""
        return request(request_id, "mcp_status")

    @classmethod
    def from_request(cls, _asked: ControlRequest) -> McpStatus:
        """Read it from a request."""
        return cls()


@dataclass(frozen=True, slots=True)
class Permission:
    """The agent asks whether it may use a tool. Answered by Allow or Deny."""

    tool_name: str = ""
    input: dict[str, Any] = field(default_factory=dict)
    tool_use_id: str | None = None
    display_name: str | None = None
    description: str | None = None
    suggestions: tuple[dict[str, Any], ...] = ()
    blocked_path: str | None = None
    decision_reason: str | None = None
    agent_id: str | None = None

    def to_request(self, request_id: str) -> ControlRequest:
        """The request that asks for this."""
        sent = {
            "tool_name": self.tool_name,
            "display_name": self.display_name,
            "input": self.input,
            "description": self.description,
            "permission_suggestions": list(self.suggestions) or None,
            "blocked_path": self.blocked_path,
            "decision_reason": self.decision_reason,
            "tool_use_id": self.tool_use_id,
            "agent_id": self.agent_id,
        }
        return request(request_id, "can_use_tool", **_present(sent))

    @classmethod
    def from_request(cls, asked: ControlRequest) -> Permission:
        """Read it from a request."""
        sent = asked.request
        return cls(
            tool_name=_text(sent, "tool_name") or "",
            input=_object(sent, "input"),
            tool_use_id=_text(sent, "tool_use_id"),
            display_name=_text(sent, "display_name"),
            description=_text(sent, "description"),
            suggestions=tuple(_objects(sent, "permission_suggestions")),
            blocked_path=_text(sent, "blocked_path"),
            decision_reason=_text(sent, "decision_reason"),
            agent_id=_text(sent, "agent_id"),
        )


@dataclass(frozen=True, slots=True)
class HookCall:
    """The agent asks the host to run one of the hooks that it announced. Answered by a HookAnswer."""

    callback_id: str = ""
    input: dict[str, Any] = field(default_factory=dict)
    tool_use_id: str | None = None

    @property
    def event(self) -> str:
        """When the hook fires: PreToolUse, Stop, …"""
        return _text(self.input, "hook_event_name") or ""

    def to_request(self, request_id: str) -> ControlRequest:
        """The request that asks for this."""
        sent = {"callback_id": self.callback_id, "input": self.input, "tool_use_id": self.tool_use_id}
        return request(request_id, "hook_callback", **_present(sent))

    @classmethod
    def from_request(cls, asked: ControlRequest) -> HookCall:
        """Read it from a request."""
        sent = asked.request
        return cls(_text(sent, "callback_id") or "", _object(sent, "input"), _text(sent, "tool_use_id"))


@dataclass(frozen=True, slots=True)
class McpMessage:
    """The agent speaks to an MCP server that lives inside the host."""

    server_name: str = ""
    message: dict[str, Any] = field(default_factory=dict)

    def to_request(self, request_id: str) -> ControlRequest:
        """The request that asks for this."""
        return request(request_id, "mcp_message", server_name=self.server_name, message=self.message)

    @classmethod
    def from_request(cls, asked: ControlRequest) -> McpMessage:
        """Read it from a request."""
        return cls(_text(asked.request, "server_name") or "", _object(asked.request, "message"))


Asked: TypeAlias = (
    Initialize
    | Interrupt
    | SetModel
    | SetPermissionMode
    | SetMaxThinkingTokens
    | McpStatus
    | Permission
    | HookCall
    | McpMessage
)
ASKED: dict[str, type[Asked]] = {
    "initialize": Initialize,
    "interrupt": Interrupt,
    "set_model": SetModel,
    "set_permission_mode": SetPermissionMode,
    "set_max_thinking_tokens": SetMaxThinkingTokens,
    "mcp_status": McpStatus,
    "can_use_tool": Permission,
    "hook_callback": HookCall,
    "mcp_message": McpMessage,
}


def read_request(asked: ControlRequest) -> Asked | None:
    """What is asked for; None for a subtype that has no value here (answer that with `unsupported`)."""
    kind = ASKED.get(asked.subtype)
    return kind.from_request(asked) if kind is not None else None


def _text(value: dict[str, Any], name: str) -> str | None:
    item = value.get(name)
    return item if isinstance(item, str) else None


def _object(value: dict[str, Any], name: str) -> dict[str, Any]:
    item = value.get(name)
    return item if isinstance(item, dict) else {}


def _objects(value: dict[str, Any], name: str) -> list[dict[str, Any]]:
    items = value.get(name)
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _present(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}

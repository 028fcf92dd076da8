"""The control requests: one record for each kind, read from the wire and written to it.

The first six go from a host to an agent, the other three from an agent to its host.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from bridle.wire.control.control_messages import request
from bridle.wire.events.events import ControlRequest
from bridle.wire.events.loose_json import JsonObject


@dataclass(frozen=True, slots=True)
class Initialize:
    """The host opens the session: the hooks that it answers itself, and settings."""

    hooks: JsonObject = field(default_factory=dict)
    settings: JsonObject = field(default_factory=dict)
    """Everything else that the host sent, by its name on the wire."""

    def to_request(self, request_id: str) -> ControlRequest:
        """Build the request."""
        return request(request_id, "initialize", hooks=self.hooks or None, **self.settings)

    @classmethod
    def from_request(cls, control_request: ControlRequest) -> Initialize:
        """Parse a request."""
        settings = {name: value for name, value in control_request.request.items() if name not in ("subtype", "hooks")}
        return cls(hooks=_object(control_request.request, "hooks"), settings=settings)

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
    """The host interrupts the running turn."""

    def to_request(self, request_id: str) -> ControlRequest:
        """Build the request."""
        return request(request_id, "interrupt")

    @classmethod
    def from_request(cls, _request: ControlRequest) -> Interrupt:
        """Parse a request."""
        return cls()


@dataclass(frozen=True, slots=True)
class SetModel:
    """The host changes the model from the next request on; None for the default one."""

    model: object = None
    """As sent: the agent must refuse what is neither a text nor None."""

    def to_request(self, request_id: str) -> ControlRequest:
        """Build the request."""
        return request(request_id, "set_model", model=self.model)

    @classmethod
    def from_request(cls, control_request: ControlRequest) -> SetModel:
        """Parse a request."""
        return cls(model=control_request.request.get("model"))


@dataclass(frozen=True, slots=True)
class SetPermissionMode:
    """The host changes the permission mode."""

    mode: str = ""

    def to_request(self, request_id: str) -> ControlRequest:
        """Build the request."""
        return request(request_id, "set_permission_mode", mode=self.mode)

    @classmethod
    def from_request(cls, control_request: ControlRequest) -> SetPermissionMode:
        """Parse a request."""
        return cls(mode=_text(control_request.request, "mode") or "")


@dataclass(frozen=True, slots=True)
class SetMaxThinkingTokens:
    """The host changes how many tokens the model may use for thinking; None for the default."""

    tokens: object = None
    """As sent: the agent must refuse what is neither an integer from 0 up nor None."""

    def to_request(self, request_id: str) -> ControlRequest:
        """Build the request."""
        return request(request_id, "set_max_thinking_tokens", max_thinking_tokens=self.tokens)

    @classmethod
    def from_request(cls, control_request: ControlRequest) -> SetMaxThinkingTokens:
        """Parse a request."""
        return cls(control_request.request.get("max_thinking_tokens"))


@dataclass(frozen=True, slots=True)
class McpStatus:
    """The host asks for the state of the MCP servers."""

    def to_request(self, request_id: str) -> ControlRequest:
        """Build the request."""
        return request(request_id, "mcp_status")

    @classmethod
    def from_request(cls, _request: ControlRequest) -> McpStatus:
        """Parse a request."""
        return cls()


@dataclass(frozen=True, slots=True)
class Permission:
    """The agent asks whether it may use a tool; the response is Allow or Deny."""

    tool_name: str = ""
    input: JsonObject = field(default_factory=dict)
    tool_use_id: str | None = None
    display_name: str | None = None
    description: str | None = None
    suggestions: tuple[JsonObject, ...] = ()
    blocked_path: str | None = None
    decision_reason: str | None = None
    agent_id: str | None = None

    def to_request(self, request_id: str) -> ControlRequest:
        """Build the request."""
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
    def from_request(cls, control_request: ControlRequest) -> Permission:
        """Parse a request."""
        sent = control_request.request
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
    """The agent asks the host to run one of its hooks; the response is a HookAnswer."""

    callback_id: str = ""
    input: JsonObject = field(default_factory=dict)
    tool_use_id: str | None = None

    @property
    def event(self) -> str:
        """When the hook fires: PreToolUse, Stop, …"""
        return _text(self.input, "hook_event_name") or ""

    def to_request(self, request_id: str) -> ControlRequest:
        """Build the request."""
        sent = {"callback_id": self.callback_id, "input": self.input, "tool_use_id": self.tool_use_id}
        return request(request_id, "hook_callback", **_present(sent))

    @classmethod
    def from_request(cls, control_request: ControlRequest) -> HookCall:
        """Parse a request."""
        sent = control_request.request
        return cls(_text(sent, "callback_id") or "", _object(sent, "input"), _text(sent, "tool_use_id"))


@dataclass(frozen=True, slots=True)
class McpMessage:
    """The agent sends a message to an MCP server inside the host."""

    server_name: str = ""
    message: JsonObject = field(default_factory=dict)

    def to_request(self, request_id: str) -> ControlRequest:
        """Build the request."""
        return request(request_id, "mcp_message", server_name=self.server_name, message=self.message)

    @classmethod
    def from_request(cls, control_request: ControlRequest) -> McpMessage:
        """Parse a request."""
        return cls(_text(control_request.request, "server_name") or "", _object(control_request.request, "message"))


AnyRequest: TypeAlias = (
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
REQUEST_KINDS: dict[str, type[AnyRequest]] = {
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


def read_request(control_request: ControlRequest) -> AnyRequest | None:
    """Parse a request; return None for an unknown subtype, which gets the response `unsupported`."""
    kind = REQUEST_KINDS.get(control_request.subtype)
    return kind.from_request(control_request) if kind is not None else None


def _text(value: JsonObject, name: str) -> str | None:
    item = value.get(name)
    return item if isinstance(item, str) else None


def _object(value: JsonObject, name: str) -> JsonObject:
    item = value.get(name)
    return item if isinstance(item, dict) else {}


def _objects(value: JsonObject, name: str) -> list[JsonObject]:
    items = value.get(name)
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _present(fields: JsonObject) -> JsonObject:
    return {name: value for name, value in fields.items() if value is not None}

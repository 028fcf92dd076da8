"""The control requests that a host sends to an agent: one record for each kind."""

from __future__ import annotations

from typing import Any, TypeAlias

from msgspec import Struct, field

from bridle.wire.events.decode_tolerant import convert
from bridle.wire.events.events import ControlRequest
from bridle.wire.events.loose_json import JsonObject


class Initialize(Struct, frozen=True):
    """The host opens the session."""

    system_prompt: str | None = None
    """Replaces the agent's own."""
    append_system_prompt: str | None = None
    sdk_mcp_servers: tuple[str, ...] = ()
    """The names of the MCP servers that run inside the host."""
    hooks: object = None
    """The callbacks of the host by event, as sent."""


class Interrupt(Struct, frozen=True):
    """The host interrupts the running turn."""


class SetModel(Struct, frozen=True):
    """The host changes the model from the next request on; None for the default one."""

    model: object = None
    """As sent: the agent must refuse what is neither a text nor None."""


class SetPermissionMode(Struct, frozen=True):
    """The host changes the permission mode."""

    mode: str = ""


class SetMaxThinkingTokens(Struct, frozen=True):
    """The host changes how many tokens the model may use for thinking; None for the default."""

    tokens: object = None
    """As sent: the agent must refuse what is neither an integer from 0 up nor None."""


class McpStatus(Struct, frozen=True):
    """The host asks for the state of the MCP servers."""


AnyRequest: TypeAlias = Initialize | Interrupt | SetModel | SetPermissionMode | SetMaxThinkingTokens | McpStatus


class SentFields(Struct, frozen=True):
    """The fields of the requests above, as a host sends them; those of a wrong type count as not sent."""

    model: Any = None
    mode: str = ""
    max_thinking_tokens: Any = None
    system_prompt: str | list[Any] | None = field(default=None, name="systemPrompt")
    append_system_prompt: str | None = field(default=None, name="appendSystemPrompt")
    sdk_mcp_servers: list[Any] | JsonObject = field(default=[], name="sdkMcpServers")
    hooks: Any = None


def read_request(control_request: ControlRequest) -> AnyRequest | None:
    """Parse a request; return None for an unknown subtype, which gets the response `unsupported`."""
    sent = convert(control_request.request, SentFields)
    match control_request.subtype:
        case "initialize":
            return _initialize(sent)
        case "interrupt":
            return Interrupt()
        case "set_model":
            return SetModel(sent.model)
        case "set_permission_mode":
            return SetPermissionMode(sent.mode)
        case "set_max_thinking_tokens":
            return SetMaxThinkingTokens(sent.max_thinking_tokens)
        case "mcp_status":
            return McpStatus()
        case _:
            return None


def _initialize(sent: SentFields) -> Initialize:
    prompt = sent.system_prompt
    if isinstance(prompt, list):
        prompt = "\n".join(part for part in prompt if isinstance(part, str))
    return Initialize(prompt, sent.append_system_prompt, tuple(str(name) for name in sent.sdk_mcp_servers), sent.hooks)

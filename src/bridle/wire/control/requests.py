"""The control requests that a host sends to an agent: their fields, by kind.

`convert` reads a record from the content of a request; a field of a wrong type gets its default, as if it were not
sent. A field that the agent must refuse when it is wrong has the type `Any`.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from bridle.wire.events.decode_tolerant import convert
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
    agents: JsonObject = field(default_factory=dict)
    """The sub-agents of the host by name, as sent."""
    json_schema: JsonObject | None = None
    """The schema of the structured output."""
    forward_subagent_text: bool = False
    """Whether the host wants the texts and thoughts of sub-agents too."""


class SetModel(Struct, frozen=True):
    """The host changes the model from the next request on; None for the default one."""

    model: Any = None


class SetPermissionMode(Struct, frozen=True):
    """The host changes the permission mode."""

    mode: str = ""


class SetMaxThinkingTokens(Struct, frozen=True):
    """The host changes how many tokens the model may use for thinking; None for the default."""

    max_thinking_tokens: Any = None


class Interrupt(Struct, frozen=True):
    """The host interrupts the running turn."""

    cancel_queued: bool = False
    """Whether the messages that wait are dropped too."""


class RewindFiles(Struct, frozen=True):
    """The host wants the files as they were at a message of the user."""

    user_message_id: str = ""
    dry_run: bool = False
    """Whether the host only wants to know what would change."""


class SeedReadState(Struct, frozen=True):
    """The host has seen that the model read a file, which the conversation no longer shows."""

    path: str = ""
    mtime: float = 0
    """When the file was last changed, in milliseconds."""


class CancelAsyncMessage(Struct, frozen=True):
    """The host drops a message that waits for its turn."""

    message_uuid: str = ""


class StopTask(Struct, frozen=True):
    """The host ends a background task."""

    task_id: str = ""


class _SentInitialize(Struct, frozen=True, rename="camel"):
    """The fields of `initialize`, as a host sends them."""

    system_prompt: str | list[Any] | None = None
    append_system_prompt: str | None = None
    sdk_mcp_servers: list[Any] | JsonObject = field(default_factory=list)
    hooks: Any = None
    agents: JsonObject = field(default_factory=dict)
    json_schema: JsonObject | None = None
    forward_subagent_text: Any = None


def read_initialize(request: JsonObject) -> Initialize:
    """Read the fields of `initialize`. The prompt may be a list of texts, the servers an object by name."""
    sent = convert(request, _SentInitialize)
    prompt = sent.system_prompt
    if isinstance(prompt, list):
        prompt = "\n".join(part for part in prompt if isinstance(part, str))
    servers = tuple(str(name) for name in sent.sdk_mcp_servers)
    return Initialize(
        prompt,
        sent.append_system_prompt,
        servers,
        sent.hooks,
        sent.agents,
        sent.json_schema,
        forward_subagent_text=sent.forward_subagent_text is True,
    )

"""The lines of a transcript: one record for each kind, with fields and order as Claude Code writes them.

An optional field that is UNSET is left out. Nothing here touches a file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET, Struct, UnsetType, field

from bridle.agent.model.api.question import Block, Content, Usage
from bridle.agent.prompt.git_files import NO_BRANCH
from bridle.agent.sessions.api_messages import AnswerHead

_ENCODER = msgspec.json.Encoder()


class Origin(Struct, frozen=True, kw_only=True, rename="camel"):
    """Where a session runs; its fields are the last ones of every message line."""

    user_type: str = "external"
    entrypoint: str = "sdk-cli"
    cwd: str
    session_id: str
    version: str
    """The protocol version, which clients check."""
    git_branch: str = NO_BRANCH


class Mark(Struct, frozen=True):
    """The identity of a message line: its id, its time, and the id of the line before it."""

    uuid: str
    timestamp: str
    parent: str | None


class QueueLine(Struct, kw_only=True, rename="camel"):
    """A user message was queued (`enqueue`), begins a turn (`dequeue`) or joins a running one (`remove`)."""

    type: str = "queue-operation"
    operation: str
    timestamp: str
    session_id: str
    content: str | UnsetType = UNSET


class UserContent(Struct, kw_only=True):
    """The message of a user line."""

    role: str = "user"
    content: Content


class UserLine(Struct, kw_only=True, rename="camel"):
    """A prompt, a tool result, or a text that the program wrote in the role of the user."""

    parent_uuid: str | None
    is_sidechain: bool = False
    prompt_id: str
    type: str = "user"
    message: UserContent
    is_visible_in_transcript_only: bool | UnsetType = UNSET
    is_compact_summary: bool | UnsetType = UNSET
    is_meta: bool | UnsetType = UNSET
    uuid: str
    timestamp: str
    permission_mode: str | UnsetType = UNSET
    prompt_source: str | UnsetType = UNSET
    tool_use_result: Any = UNSET
    source_call: str | UnsetType = field(name="sourceToolUseID", default=UNSET)
    source: str | UnsetType = field(name="sourceToolAssistantUUID", default=UNSET)
    origin: Origin


class AnswerMessage(Struct, kw_only=True):
    """The message of an assistant line: one block with the envelope of the whole answer."""

    id: Any
    type: str = "message"
    role: str = "assistant"
    model: Any
    content: list[Block]
    stop_reason: Any
    stop_sequence: Any
    usage: Usage
    stop_details: Any


class AssistantLine(Struct, kw_only=True, rename="camel"):
    """One block of an answer of the model."""

    parent_uuid: str | None
    is_sidechain: bool = False
    message: AnswerMessage
    request_id: str | UnsetType = UNSET
    type: str = "assistant"
    uuid: str
    timestamp: str
    origin: Origin


class SyntheticLine(Struct, kw_only=True, rename="camel"):
    """A message that the program wrote in the role of the model; `error` names the failure that it reports."""

    parent_uuid: str | None
    is_sidechain: bool = False
    type: str = "assistant"
    uuid: str
    timestamp: str
    message: Any
    request_id: str | UnsetType = UNSET
    error: str | UnsetType = UNSET
    is_api_error_message: bool
    api_error_status: int | UnsetType = UNSET
    origin: Origin


class QueuedCommand(Struct, kw_only=True, rename="camel"):
    """A user message that arrived while a turn was running."""

    type: str = "queued_command"
    prompt: Content
    command_mode: str = "prompt"
    timestamp: str


class AttachmentLine(Struct, kw_only=True, rename="camel"):
    """Content for the model that is not a message of its own."""

    parent_uuid: str | None
    is_sidechain: bool = False
    attachment: QueuedCommand
    type: str = "attachment"
    uuid: str
    timestamp: str
    origin: Origin


class PreservedSegment(Struct, kw_only=True, rename="camel"):
    """The first and the last line that a summary keeps, and the summary's own line."""

    head_uuid: str
    anchor_uuid: str
    tail_uuid: str


class PreservedMessages(Struct, kw_only=True, rename="camel"):
    """The lines that a summary keeps."""

    anchor_uuid: str
    uuids: list[str]
    all_uuids: list[str]


class CompactMetadata(Struct, kw_only=True, rename="camel"):
    """The figures of a compaction."""

    trigger: str
    pre_tokens: int
    duration_ms: int
    preserved_segment: PreservedSegment | UnsetType = UNSET
    preserved_messages: PreservedMessages | UnsetType = UNSET
    post_tokens: int
    cumulative_dropped_tokens: int


class BoundaryLine(Struct, kw_only=True, rename="camel"):
    """A summary replaces the lines up to `logical_parent_uuid`."""

    parent_uuid: None = None
    logical_parent_uuid: str | None
    is_sidechain: bool = False
    type: str = "system"
    subtype: str = "compact_boundary"
    content: str = "Conversation compacted"
    is_meta: bool = False
    timestamp: str
    uuid: str
    level: str = "info"
    compact_metadata: CompactMetadata
    origin: Origin


class CustomTitleLine(Struct, kw_only=True, rename="camel"):
    """The title that the user gave to the session."""

    type: str = "custom-title"
    custom_title: str
    session_id: str


class AgentNameLine(Struct, kw_only=True, rename="camel"):
    """The title again, under the name that other clients look for."""

    type: str = "agent-name"
    agent_name: str
    session_id: str


class FileHistoryLine(Struct, kw_only=True, rename="camel"):
    """A file checkpoint."""

    type: str = "file-history-snapshot"
    message_id: str
    snapshot: Any
    is_snapshot_update: bool


class LastPromptLine(Struct, kw_only=True, rename="camel"):
    """The last prompt, and the last line of the conversation."""

    type: str = "last-prompt"
    last_prompt: str | UnsetType = UNSET
    leaf_uuid: str | None
    session_id: str


Line: TypeAlias = (
    QueueLine
    | UserLine
    | AssistantLine
    | SyntheticLine
    | AttachmentLine
    | BoundaryLine
    | CustomTitleLine
    | AgentNameLine
    | FileHistoryLine
    | LastPromptLine
)


def titles(name: str, *, session_id: str) -> list[Line]:
    """Return the lines that give a session its title."""
    return [
        CustomTitleLine(custom_title=name, session_id=session_id),
        AgentNameLine(agent_name=name, session_id=session_id),
    ]


def assistant(head: AnswerHead, block: Block, mark: Mark, origin: Origin, *, request_id: str | None) -> AssistantLine:
    """Return the line of one block; `head` has the final usage and stop reason."""
    return AssistantLine(
        parent_uuid=mark.parent,
        message=AnswerMessage(
            id=head.id,
            model=head.model,
            content=[block],
            stop_reason=head.stop_reason,
            stop_sequence=head.stop_sequence,
            usage=full_usage(head.usage),
            stop_details=head.stop_details,
        ),
        request_id=UNSET if request_id is None else request_id,
        uuid=mark.uuid,
        timestamp=mark.timestamp,
        origin=origin,
    )


def full_usage(usage: Usage | None) -> Usage:
    """Return usage with every field that clients expect, in their order, and those that the endpoint added."""
    known: Usage = {
        "input_tokens": 0,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": 0,
        "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
        "service_tier": "standard",
        "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 0},
        "inference_geo": "",
        "iterations": [],
        "speed": "standard",
    }
    sent = {name: value for name, value in (usage or {}).items() if value is not None}
    cached = sent.get("cache_creation")
    if isinstance(cached, dict):  # endpoints send its two fields in either order
        sent["cache_creation"] = {**known["cache_creation"], **cached}
    return known | sent


def encode(line: Line) -> bytes:
    """Encode a line with its line end; the fields of its origin come last."""
    fields = msgspec.to_builtins(line)
    origin = fields.pop("origin", None)
    return encode_json(fields if origin is None else fields | origin)


def encode_json(fields: Mapping[str, Any]) -> bytes:
    """Encode a line that is JSON already."""
    try:
        return _ENCODER.encode(fields) + b"\n"
    except UnicodeEncodeError:
        # A tool or a model produced a lone surrogate: as an escape it survives, and the file stays valid UTF-8.
        return json.dumps(fields, separators=(",", ":")).encode("ascii") + b"\n"

"""The events that bridle-agent prints: one record for each kind, with fields and order as clients expect them.

An optional field that is UNSET is left out. `session_id` and `uuid` are filled in when the event is printed.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from msgspec import UNSET, Struct, UnsetType, field

from bridle.agent.model.api.question import Block, Content, Usage
from bridle.agent.stdio.task_events import System, TaskNotification, TaskProgress, TaskStarted, TaskUpdated
from bridle.agent.version import PROTOCOL_VERSION

SYNTHETIC_MODEL = "<synthetic>"


class Init(System, kw_only=True):
    """A turn begins."""

    subtype: str = "init"
    cwd: str
    session_id: str = ""
    tools: list[str]
    mcp_servers: list[dict[str, str]]
    model: str
    permission_mode: str = field(name="permissionMode")
    slash_commands: list[str]
    key_source: str = field(name="apiKeySource")
    claude_code_version: str = PROTOCOL_VERSION
    output_style: str = "default"
    agents: tuple[str, ...] = ()
    skills: list[str]
    plugins: list[dict[str, str]]
    plugin_errors: list[dict[str, str]] | UnsetType = UNSET
    plugin_warnings: list[dict[str, str]] | UnsetType = UNSET
    betas: tuple[str, ...] | UnsetType = UNSET
    analytics_disabled: bool = True
    product_feedback_disabled: bool = True
    uuid: str = ""
    fast_mode_state: str = "off"


class Status(System, kw_only=True):
    """A request starts, compaction starts or ends, or the permission mode changed."""

    subtype: str = "status"
    status: str | None = None
    compact_result: str | UnsetType = UNSET
    compact_error: str | UnsetType = UNSET
    permission_mode: str | UnsetType = field(name="permissionMode", default=UNSET)
    session_id: str = ""
    uuid: str = ""


class CompactBoundary(System, kw_only=True):
    """A summary has replaced the messages before this event."""

    subtype: str = "compact_boundary"
    compact_metadata: dict[str, Any]
    """The figures of the compaction: see `conversation/compact.py`."""
    session_id: str = ""
    uuid: str = ""


class ApiRetry(System, kw_only=True):
    """A request failed and is sent again after a delay."""

    subtype: str = "api_retry"
    attempt: int
    max_retries: int
    retry_delay_ms: float
    error_status: int | None
    error: str
    session_id: str = ""
    uuid: str = ""


class ThinkingTokens(System, kw_only=True):
    """The model is thinking."""

    subtype: str = "thinking_tokens"
    estimated_tokens: int
    estimated_tokens_delta: int
    session_id: str = ""
    uuid: str = ""


class ModelFallback(System, kw_only=True):
    """Another model answers the rest of the turn."""

    subtype: str = "model_fallback"
    trigger: str
    original_model: str
    fallback_model: str
    content: str
    session_id: str = ""
    uuid: str = ""


class ModelRefusal(System, kw_only=True):
    """The model refused to answer, and no fallback model takes over."""

    subtype: str = "model_refusal_no_fallback"
    original_model: str
    request_id: str | None
    api_refusal_category: Any
    api_refusal_explanation: Any
    refused_user_message_uuid: str
    content: str = ""
    session_id: str = ""
    uuid: str = ""


class HookStarted(System, kw_only=True):
    """A hook starts."""

    subtype: str = "hook_started"
    hook_id: str
    hook_name: str
    hook_event: str
    uuid: str = ""
    session_id: str = ""


class HookResponse(System, kw_only=True):
    """A hook has ended."""

    subtype: str = "hook_response"
    hook_id: str
    hook_name: str
    hook_event: str
    output: str
    stdout: str
    stderr: str
    exit_code: int
    outcome: str
    uuid: str = ""
    session_id: str = ""


class Informational(System, kw_only=True):
    """A hook blocked the prompt."""

    subtype: str = "informational"
    content: str
    level: str = "warning"
    prevent_continuation: bool = True
    uuid: str = ""
    session_id: str = ""


class Notification(System, kw_only=True):
    """A message for the user."""

    subtype: str = "notification"
    key: str
    text: str
    priority: str = "immediate"
    uuid: str = ""
    session_id: str = ""


class AssistantMessage(Struct, kw_only=True):
    """One block of an answer, with the envelope of its message."""

    id: str | None
    type: str = "message"
    role: str = "assistant"
    model: str | None
    content: list[Block]
    stop_reason: str | None = None
    stop_sequence: str | None = None
    usage: Usage
    context_management: None = None


class SyntheticMessage(Struct, kw_only=True):
    """A message that bridle-agent wrote in the role of the model."""

    id: str
    container: None = None
    model: str = SYNTHETIC_MODEL
    role: str = "assistant"
    stop_details: Any = None
    stop_reason: str = "stop_sequence"
    stop_sequence: str = ""
    type: str = "message"
    usage: Usage = field(
        default_factory=lambda: {
            "input_tokens": 0,
            "output_tokens": 0,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
            "service_tier": None,
            "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 0},
            "inference_geo": None,
            "iterations": None,
            "speed": None,
        }
    )
    content: list[Block]
    context_management: None = None


class Assistant(Struct, kw_only=True, tag_field="type", tag="assistant"):
    """The model finished a block, or bridle-agent reports an error in its role."""

    message: AssistantMessage | SyntheticMessage
    parent_tool_use_id: str | None = None
    """The call that started the sub-agent; None for the main agent."""
    session_id: str = ""
    uuid: str = ""
    request_id: str | UnsetType = UNSET
    error: str | UnsetType = UNSET
    tool_use_meta: list[dict[str, str]] | UnsetType = UNSET
    """How clients show the calls of MCP tools."""
    subagent_type: str | UnsetType = UNSET
    task_description: str | UnsetType = UNSET


class UserMessage(Struct, kw_only=True):
    """The message of a `user` event."""

    role: str = "user"
    content: Content


class User(Struct, kw_only=True, tag_field="type", tag="user"):
    """A tool result, or a text that bridle-agent wrote in the role of the user."""

    message: UserMessage
    parent_tool_use_id: str | None = None
    """The call that started the sub-agent; None for the main agent."""
    session_id: str = ""
    uuid: str = ""
    timestamp: str
    tool_use_result: Any = UNSET
    is_synthetic: bool | UnsetType = field(name="isSynthetic", default=UNSET)
    is_replay: bool | UnsetType = field(name="isReplay", default=UNSET)
    subagent_type: str | UnsetType = UNSET
    task_description: str | UnsetType = UNSET


class Replay(Struct, kw_only=True, tag_field="type", tag="user"):
    """A user message, echoed to the client."""

    message: UserMessage
    session_id: str = ""
    parent_tool_use_id: None = None
    uuid: str = ""
    timestamp: str | UnsetType = UNSET
    """Absent for a message without a place of its own in the conversation: one that was merged, or came before."""
    is_replay: bool = field(name="isReplay", default=True)


class StreamEvent(Struct, kw_only=True, tag_field="type", tag="stream_event"):
    """One server-sent event of the answer in progress, verbatim."""

    event: dict[str, Any]
    session_id: str = ""
    parent_tool_use_id: None = None
    uuid: str = ""
    ttft_ms: int | UnsetType = UNSET


class RateLimit(Struct, kw_only=True, tag_field="type", tag="rate_limit_event"):
    """The usage limit of the subscription, as the endpoint reported it."""

    rate_limit_info: dict[str, object]
    uuid: str = ""
    session_id: str = ""


class Denial(Struct):
    """A tool call that was denied."""

    tool_name: str
    tool_use_id: str
    tool_input: dict[str, Any]


class _Result(Struct, tag_field="type", tag="result"):
    """The last event of a turn."""


class SuccessResult(_Result, kw_only=True):
    """The result of a turn that ended with an answer or with an API error."""

    subtype: str = "success"
    is_error: bool
    api_error_status: int | UnsetType | None = UNSET
    duration_ms: int
    duration_api_ms: int
    ttft_ms: int | UnsetType = UNSET
    ttft_stream_ms: int | UnsetType = UNSET
    time_to_request_ms: int | UnsetType = UNSET
    num_turns: int
    result: str
    stop_reason: str | None
    session_id: str = ""
    total_cost_usd: float | None
    usage: Usage
    model_usage: dict[str, Usage] = field(name="modelUsage")
    permission_denials: list[Denial]
    structured_output: Any = UNSET
    deferred_tool_use: dict[str, Any] | UnsetType = UNSET
    terminal_reason: str | UnsetType = UNSET
    fast_mode_state: str | UnsetType = UNSET
    origin: dict[str, str] | UnsetType = UNSET
    uuid: str = ""


class ErrorResult(_Result, kw_only=True):
    """The result of a turn that was interrupted, reached a limit or failed."""

    subtype: str
    duration_ms: int
    duration_api_ms: int
    is_error: bool = True
    num_turns: int
    stop_reason: str | None
    session_id: str = ""
    total_cost_usd: float | None
    usage: Usage
    model_usage: dict[str, Usage] = field(name="modelUsage")
    permission_denials: list[Denial]
    structured_output: Any = UNSET
    terminal_reason: str | UnsetType = UNSET
    fast_mode_state: str | UnsetType = UNSET
    origin: dict[str, str] | UnsetType = UNSET
    uuid: str = ""
    errors: list[str]


Result: TypeAlias = SuccessResult | ErrorResult
Event: TypeAlias = (
    Init
    | Status
    | CompactBoundary
    | ApiRetry
    | ThinkingTokens
    | ModelFallback
    | ModelRefusal
    | HookStarted
    | HookResponse
    | Informational
    | Notification
    | TaskStarted
    | TaskProgress
    | TaskUpdated
    | TaskNotification
    | Assistant
    | User
    | Replay
    | StreamEvent
    | RateLimit
    | SuccessResult
    | ErrorResult
)

"""The lines that the drop-in prints: one function for each kind, with the fields and their order as programs read them.

Ids and time are given, so that the same facts make the same line.
"""

from __future__ import annotations

from typing import Any

import msgspec

from bridle.agent.sessions.transcript_entries import full_usage
from bridle.agent.version import PROTOCOL_VERSION

Event = dict[str, Any]

SYNTHETIC_MODEL = "<synthetic>"


class Opening(msgspec.Struct, frozen=True):
    """What `init` says at the start of a turn."""

    cwd: str
    tools: list[str]
    mcp_servers: list[dict[str, str]]
    model: str
    permission_mode: str
    slash_commands: list[str]
    key_source: str
    skills: list[str]
    plugins: list[dict[str, str]]


def init(opening: Opening, *, session_id: str, uuid: str) -> Event:
    """A turn begins."""
    return {
        "type": "system",
        "subtype": "init",
        "cwd": opening.cwd,
        "session_id": session_id,
        "tools": opening.tools,
        "mcp_servers": opening.mcp_servers,
        "model": opening.model,
        "permissionMode": opening.permission_mode,
        "slash_commands": opening.slash_commands,
        "apiKeySource": opening.key_source,
        "claude_code_version": PROTOCOL_VERSION,
        "output_style": "default",
        "agents": [],
        "skills": opening.skills,
        "plugins": opening.plugins,
        "analytics_disabled": True,
        "product_feedback_disabled": True,
        "uuid": uuid,
        "fast_mode_state": "off",
    }


def system(subtype: str, fields: dict[str, Any], *, session_id: str, uuid: str) -> Event:
    """The program says something about itself."""
    return {"type": "system", "subtype": subtype, **fields, "session_id": session_id, "uuid": uuid}


def assistant(
    message: dict[str, Any],
    block: dict[str, Any],
    *,
    session_id: str,
    uuid: str,
    request_id: str | None,
    is_final: bool,
) -> Event:
    """The model finished a block. `message` is what its answer began with."""
    shown = {
        "id": message.get("id"),
        "type": "message",
        "role": "assistant",
        "model": message.get("model"),
        "content": [block],
        "stop_reason": message.get("stop_reason") if is_final else None,
        "stop_sequence": message.get("stop_sequence") if is_final else None,
        "usage": full_usage(message.get("usage")) if is_final else message.get("usage") or {},
        "context_management": None,
    }
    event: Event = {
        "type": "assistant",
        "message": shown,
        "parent_tool_use_id": None,
        "session_id": session_id,
        "uuid": uuid,
    }
    if request_id is not None:
        event["request_id"] = request_id
    return event


def synthetic_message(
    text: str, *, message_id: str, stop_reason: str = "stop_sequence", stop_details: Any = None
) -> dict[str, Any]:
    """A message that the program wrote in the model's place."""
    return {
        "id": message_id,
        "container": None,
        "model": SYNTHETIC_MODEL,
        "role": "assistant",
        "stop_details": stop_details,
        "stop_reason": stop_reason,
        "stop_sequence": "",
        "type": "message",
        "usage": {
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
        },
        "content": [{"type": "text", "text": text}],
        "context_management": None,
    }


def synthetic(
    message: dict[str, Any], *, session_id: str, uuid: str, error: str | None = None, request_id: str | None = None
) -> Event:
    """The event for such a message; `error` names the kind of failure that it tells."""
    event: Event = {
        "type": "assistant",
        "message": message,
        "parent_tool_use_id": None,
        "session_id": session_id,
        "uuid": uuid,
    }
    if request_id is not None:
        event["request_id"] = request_id
    if error is not None:
        event["error"] = error
    return event


def user(
    content: str | list[dict[str, Any]],
    *,
    session_id: str,
    uuid: str,
    timestamp: str,
    detail: Any = None,
    is_synthetic: bool = False,
) -> Event:
    """Something entered the conversation on the user's side: a tool's result, or words of the program."""
    event: Event = {
        "type": "user",
        "message": {"role": "user", "content": content},
        "parent_tool_use_id": None,
        "session_id": session_id,
        "uuid": uuid,
        "timestamp": timestamp,
    }
    if detail is not None:
        event["tool_use_result"] = detail
    if is_synthetic:
        event["isSynthetic"] = True
    return event


def replay(content: str | list[dict[str, Any]], *, session_id: str, uuid: str, timestamp: str) -> Event:
    """What the user said, given back."""
    return {
        "type": "user",
        "message": {"role": "user", "content": content},
        "session_id": session_id,
        "parent_tool_use_id": None,
        "uuid": uuid,
        "timestamp": timestamp,
        "isReplay": True,
    }


def frame(data: dict[str, Any], *, session_id: str, uuid: str, ttft_ms: int | None) -> Event:
    """One object of the answer under way."""
    event: Event = {
        "type": "stream_event",
        "event": data,
        "session_id": session_id,
        "parent_tool_use_id": None,
        "uuid": uuid,
    }
    if ttft_ms is not None:
        event["ttft_ms"] = ttft_ms
    return event


def tool_result(call_id: str, content: Any, *, is_error: bool, names_success: bool) -> dict[str, Any]:
    """The block that answers a call. A failure has its fields in another order; programs have seen both."""
    if is_error:
        return {"type": "tool_result", "content": content, "is_error": True, "tool_use_id": call_id}
    block: dict[str, Any] = {"tool_use_id": call_id, "type": "tool_result", "content": content}
    if names_success:
        block["is_error"] = False
    return block

"""The lines of a transcript: one function for each kind, with the fields and their order as programs read them.

Ids and time are given, so that the same facts make the same line. Nothing here touches a file.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from bridle.agent.prompt.git_files import NO_BRANCH

Line = dict[str, Any]
Content = str | list[dict[str, Any]]

_ENCODER = msgspec.json.Encoder()


class Origin(msgspec.Struct, frozen=True):
    """Where the lines of a session come from; every message line ends with it."""

    session_id: str
    cwd: str
    version: str
    """The version of the protocol that programs look for."""
    entrypoint: str = "sdk-cli"
    git_branch: str = NO_BRANCH

    def fields(self) -> Line:
        """The last fields of a message line."""
        return {
            "userType": "external",
            "entrypoint": self.entrypoint,
            "cwd": self.cwd,
            "sessionId": self.session_id,
            "version": self.version,
            "gitBranch": self.git_branch,
        }


class Mark(msgspec.Struct, frozen=True):
    """What tells one message line from another: its id, its moment, and the line that it follows."""

    uuid: str
    timestamp: str
    parent: str | None


def queue(operation: str, *, session_id: str, timestamp: str, content: Content | None = None) -> Line:
    """A message from outside was queued (`enqueue`), begins a turn (`dequeue`) or joins a running one (`remove`)."""
    line: Line = {
        "type": "queue-operation",
        "operation": operation,
        "timestamp": timestamp,
        "sessionId": session_id,
    }
    if isinstance(content, str):
        line["content"] = content
    return line


def prompt(content: Content, mark: Mark, origin: Origin, *, prompt_id: str, permission_mode: str) -> Line:
    """The user asks for something."""
    return {
        **_user(content, mark, prompt_id=prompt_id),
        "uuid": mark.uuid,
        "timestamp": mark.timestamp,
        "permissionMode": permission_mode,
        "promptSource": "sdk",
        **origin.fields(),
    }


def note(
    content: Content,
    mark: Mark,
    origin: Origin,
    *,
    prompt_id: str,
    is_meta: bool,
    source_call: str | None = None,
    is_summary: bool = False,
) -> Line:
    """The program says something on the user's side: a nudge, the body of a skill, an interruption, a summary."""
    line = _user(content, mark, prompt_id=prompt_id)
    if is_summary:
        line |= {"isVisibleInTranscriptOnly": True, "isCompactSummary": True}
    if is_meta:
        line["isMeta"] = True
    line |= {"uuid": mark.uuid, "timestamp": mark.timestamp}
    if source_call is not None:
        line["sourceToolUseID"] = source_call
    return {**line, **origin.fields()}


def tool_result(block: dict[str, Any], mark: Mark, origin: Origin, *, prompt_id: str, detail: Any, source: str) -> Line:
    """A tool answered; `source` is the id of the line that holds the call."""
    line = _user([block], mark, prompt_id=prompt_id)
    line |= {"uuid": mark.uuid, "timestamp": mark.timestamp}
    if detail is not None:
        line["toolUseResult"] = detail
    return {**line, "sourceToolAssistantUUID": source, **origin.fields()}


def assistant(
    message: dict[str, Any], block: dict[str, Any], mark: Mark, origin: Origin, *, request_id: str | None
) -> Line:
    """The model finished a block; `message` is its whole answer, with the final usage and stop reason."""
    line: Line = {
        "parentUuid": mark.parent,
        "isSidechain": False,
        "message": {
            "id": message.get("id"),
            "type": "message",
            "role": "assistant",
            "model": message.get("model"),
            "content": [block],
            "stop_reason": message.get("stop_reason"),
            "stop_sequence": message.get("stop_sequence"),
            "usage": full_usage(message.get("usage")),
            "stop_details": message.get("stop_details"),
        },
    }
    if request_id is not None:
        line["requestId"] = request_id
    return {**line, "type": "assistant", "uuid": mark.uuid, "timestamp": mark.timestamp, **origin.fields()}


def synthetic(
    message: dict[str, Any],
    mark: Mark,
    origin: Origin,
    *,
    request_id: str | None = None,
    error: str | None = None,
    status: int | None = None,
) -> Line:
    """A message that the program wrote in the model's place; `error` names the failure that it tells."""
    line: Line = {
        "parentUuid": mark.parent,
        "isSidechain": False,
        "type": "assistant",
        "uuid": mark.uuid,
        "timestamp": mark.timestamp,
        "message": message,
    }
    if request_id is not None:
        line["requestId"] = request_id
    if error is not None:
        line["error"] = error
    line["isApiErrorMessage"] = error is not None
    if status is not None:
        line["apiErrorStatus"] = status
    return {**line, **origin.fields()}


def attachment(value: dict[str, Any], mark: Mark, origin: Origin) -> Line:
    """Something that the model is shown besides the messages, as a message sent while it was at work."""
    return {
        "parentUuid": mark.parent,
        "isSidechain": False,
        "attachment": value,
        "type": "attachment",
        "uuid": mark.uuid,
        "timestamp": mark.timestamp,
        **origin.fields(),
    }


def boundary(metadata: dict[str, Any], mark: Mark, origin: Origin) -> Line:
    """From here on a summary stands for what came before; `mark.parent` is the last line that it covers."""
    return {
        "parentUuid": None,
        "logicalParentUuid": mark.parent,
        "isSidechain": False,
        "type": "system",
        "subtype": "compact_boundary",
        "content": "Conversation compacted",
        "isMeta": False,
        "timestamp": mark.timestamp,
        "uuid": mark.uuid,
        "level": "info",
        "compactMetadata": metadata,
        **origin.fields(),
    }


def titles(name: str, *, session_id: str) -> list[Line]:
    """The name that a person gave to the session."""
    return [
        {"type": "custom-title", "customTitle": name, "sessionId": session_id},
        {"type": "agent-name", "agentName": name, "sessionId": session_id},
    ]


def last_prompt(text: str | None, leaf: str | None, *, session_id: str) -> Line:
    """What was asked last, and the line that the conversation ends with."""
    line: Line = {"type": "last-prompt"}
    if text is not None:
        line["lastPrompt"] = text
    return {**line, "leafUuid": leaf, "sessionId": session_id}


def full_usage(usage: dict[str, Any] | None) -> dict[str, Any]:
    """Usage with every field that programs have seen, in their order; what the endpoint sent stays."""
    known: dict[str, Any] = {
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
    """One line of the file, with its end."""
    try:
        return _ENCODER.encode(line) + b"\n"
    except UnicodeEncodeError:
        # A lone surrogate came in with a tool's or a model's text; escaped it survives and the file stays UTF-8.
        return json.dumps(line, separators=(",", ":")).encode("ascii") + b"\n"


def _user(content: Content, mark: Mark, *, prompt_id: str) -> Line:
    return {
        "parentUuid": mark.parent,
        "isSidechain": False,
        "promptId": prompt_id,
        "type": "user",
        "message": {"role": "user", "content": content},
    }

"""Cursor's tool calls: an object whose one key names the tool and holds arguments and result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bridle.wire.dialects.tolerant_fields import mapping, text
from bridle.wire.events.blocks import to_raw_text
from bridle.wire.events.loose_json import from_json

_SUFFIX = "ToolCall"
_NAMES = {"shell": "Bash", "updateTodos": "TodoWrite", "ls": "LS"}  # where a capital letter alone does not do


@dataclass(frozen=True, slots=True)
class Call:
    """What was called, with what, and what came of it where that is known."""

    name: str
    arguments: dict[str, Any]
    result: dict[str, Any]


def call_of(tool_call: dict[str, Any]) -> Call | None:
    """The call in `tool_call`; None where nothing there looks like one."""
    for key, body in tool_call.items():
        if not isinstance(body, dict):
            continue
        if key == "function":
            return _function(body)
        if key.endswith(_SUFFIX):
            arguments = mapping(body, "args")
            return Call(_name(key.removesuffix(_SUFFIX), arguments), arguments, mapping(body, "result"))
    return None


def denied(result: dict[str, Any]) -> bool:
    """Whether permission for the call was refused."""
    return "rejected" in result or "permissionDenied" in result


def output_of(result: dict[str, Any]) -> str:
    """The words of a result, whatever its tool: contents, output of a command, or all of it as JSON."""
    for body in result.values():
        if isinstance(body, str):
            return body
        if isinstance(body, dict):
            return _words(body)
    return to_raw_text(result) if result else ""


def _function(body: dict[str, Any]) -> Call:
    given = text(body, "arguments")
    arguments = from_json(given.encode("utf-8", "replace")) if given is not None else body.get("arguments")
    known = arguments if isinstance(arguments, dict) else {}
    return Call(text(body, "name") or "function", known, mapping(body, "result"))


def _name(key: str, arguments: dict[str, Any]) -> str:
    if key == "mcp":
        server = text(arguments, "providerIdentifier") or text(arguments, "serverName") or ""
        return f"mcp__{server}__{text(arguments, 'toolName') or text(arguments, 'name') or ''}"
    return _NAMES.get(key) or key[:1].upper() + key[1:]


def _words(body: dict[str, Any]) -> str:
    for name in ("content", "errorMessage", "error", "message", "reason"):
        if isinstance(body.get(name), str):
            return str(body[name])
    printed = [body[name] for name in ("stdout", "stderr") if isinstance(body.get(name), str) and body[name]]
    return "\n".join(printed) if printed else to_raw_text(body)

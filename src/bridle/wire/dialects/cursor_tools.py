"""Cursor's tool calls: an object whose one key is the tool's name and whose value has arguments and result."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from bridle.wire.events.blocks import to_raw_text
from bridle.wire.events.decode_tolerant import convert
from bridle.wire.events.loose_json import JsonObject, from_json

_SUFFIX = "ToolCall"
_NAMES = {"shell": "Bash", "updateTodos": "TodoWrite", "ls": "LS"}  # where capitalising is not enough


class ToolCall(Struct, frozen=True):
    """A tool call; its result is empty until it is known."""

    name: str
    arguments: JsonObject
    result: JsonObject


class Body(Struct, frozen=True):
    """The value of a tool's key."""

    args: JsonObject = {}
    result: JsonObject = {}
    name: str | None = None
    arguments: Any = None


class Result(Struct, frozen=True, rename="camel"):
    """The fields of a result that can have its text."""

    content: str | None = None
    error_message: str | None = None
    error: str | None = None
    message: str | None = None
    reason: str | None = None
    stdout: str | None = None
    stderr: str | None = None


class McpArguments(Struct, frozen=True, rename="camel"):
    """The arguments that name an MCP tool."""

    provider_identifier: str | None = None
    server_name: str | None = None
    tool_name: str | None = None
    name: str | None = None


def parse_tool_call(value: JsonObject) -> ToolCall | None:
    """Return the call in `tool_call`, or None."""
    for key, body in value.items():
        if not isinstance(body, dict):
            continue
        if key == "function":
            return _function(convert(body, Body))
        if key.endswith(_SUFFIX):
            call = convert(body, Body)
            return ToolCall(_name(key.removesuffix(_SUFFIX), call.args), call.args, call.result)
    return None


def is_denied(result: JsonObject) -> bool:
    """Return whether permission for the call was refused."""
    return "rejected" in result or "permissionDenied" in result


def output_of(result: JsonObject) -> str:
    """Return the text of a result: its content, a command's output, or all of it as JSON."""
    for body in result.values():
        if isinstance(body, str):
            return body
        if isinstance(body, dict):
            return _text(body)
    return to_raw_text(result) if result else ""


def _function(body: Body) -> ToolCall:
    arguments = body.arguments
    if isinstance(arguments, str):
        arguments = from_json(arguments.encode("utf-8", "replace"))
    return ToolCall(body.name or "function", arguments if isinstance(arguments, dict) else {}, body.result)


def _name(key: str, arguments: JsonObject) -> str:
    if key == "mcp":
        tool = convert(arguments, McpArguments)
        return f"mcp__{tool.provider_identifier or tool.server_name or ''}__{tool.tool_name or tool.name or ''}"
    return _NAMES.get(key) or key[:1].upper() + key[1:]


def _text(body: JsonObject) -> str:
    result = convert(body, Result)
    for text in (result.content, result.error_message, result.error, result.message, result.reason):
        if text is not None:
            return text
    printed = [output for output in (result.stdout, result.stderr) if output]
    return "\n".join(printed) if printed else to_raw_text(body)

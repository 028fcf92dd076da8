"""Translates what an editor sends: the blocks of a prompt, and MCP servers. Pure."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote, urlsplit

from bridle.agent.acp.json_rpc import INVALID_PARAMS, RpcError
from bridle.wire.events.loose_json import JsonObject


def prompt_blocks(prompt: Any) -> list[JsonObject]:
    """Return the blocks of a prompt in the form of the Messages API. Raises RpcError without a block."""
    blocks = [_block(part) for part in prompt if isinstance(part, dict)] if isinstance(prompt, list) else []
    found = [block for block in blocks if block is not None]
    if not found:
        raise RpcError(INVALID_PARAMS, "Invalid params: prompt must be a list with at least one block of content")
    return found


def mcp_servers(servers: Any) -> dict[str, JsonObject]:
    """Return MCP servers in the form of `--mcp-config`."""
    found: dict[str, JsonObject] = {}
    for server in servers if isinstance(servers, list) else []:
        match server:
            case {"name": str(name), "url": str(url)}:
                kind = server.get("type") or "http"
                found[name] = {"type": kind, "url": url, "headers": _pairs(server.get("headers"))}
            case {"name": str(name), "command": str(command)}:
                arguments = [str(argument) for argument in server.get("args") or []]
                found[name] = {"type": "stdio", "command": command, "args": arguments, "env": _pairs(server.get("env"))}
    return found


def _block(part: JsonObject) -> JsonObject | None:
    match part:
        case {"type": "text", "text": str(text)}:
            return _text(text)
        case {"type": "image", "data": str(data), "mimeType": str(media_type)} if data:
            return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}
        case {"type": "resource_link", "uri": str(uri)}:
            return _text(_mention(uri))
        case {"type": "resource", "resource": {"uri": str(uri), "text": str(text)}}:
            return _text(f'<context ref="{uri}">\n{text}\n</context>')
        case {"type": "resource", "resource": {"uri": str(uri)}}:
            return _text(_mention(uri))
    return None


def _mention(uri: str) -> str:
    """Return a file as a mention, whose text is read; anything else as a link."""
    parts = urlsplit(uri)
    return f"@{unquote(parts.path)}" if parts.scheme == "file" else uri


def _pairs(pairs: Any) -> dict[str, str]:
    return {
        pair["name"]: pair["value"]
        for pair in (pairs if isinstance(pairs, list) else [])
        if isinstance(pair, dict) and isinstance(pair.get("name"), str) and isinstance(pair.get("value"), str)
    }


def _text(text: str) -> JsonObject:
    return {"type": "text", "text": text}

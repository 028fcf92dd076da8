"""The configuration of MCP servers: entries of `mcpServers`, validated, with environment variables expanded."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

REMOTE = ("http", "sse")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")


class ServerConfig(msgspec.Struct, frozen=True):
    """One server: how to reach it, and where it was configured."""

    name: str
    scope: str
    """`dynamic` (flags, plugins, the host), `user`, `local` or `project`."""
    entry: dict[str, Any]
    """As configured, for `mcp_status`."""
    type: str = "stdio"
    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    url: str = ""
    headers: dict[str, str] = {}
    fault: str | None = None
    """Why it cannot be used; None if it can."""

    @property
    def shown(self) -> dict[str, Any]:
        """The configuration as `mcp_status` shows it."""
        return {"type": self.type, **({"args": []} if self.command else {}), **self.entry}


def tool_name(server: str, tool: str) -> str:
    """Return the name that the model calls a tool by."""
    return f"mcp__{safe_name(server)}__{safe_name(tool)}"


def safe_name(text: str) -> str:
    """Return a name with the characters that the API allows."""
    return _UNSAFE.sub("_", text)


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Expand `${NAME}` and `${NAME:-default}`; an unknown variable without a default stays as it is."""

    def value(match: re.Match[str]) -> str:
        name, default = match[1], match[2]
        if name in variables and (variables[name] or default is None):
            return variables[name]
        return match[0] if default is None else default

    return _VARIABLE.sub(value, text)


def parse_servers(
    servers: Mapping[str, Any], scope: str, variables: Mapping[str, str], *, prefix: str = ""
) -> list[ServerConfig]:
    """Parse an object of servers; an entry that cannot be used is a server with a fault."""
    return [parse_server(prefix + name, entry, scope, variables) for name, entry in servers.items()]


def parse_server(name: str, entry: Any, scope: str, variables: Mapping[str, str]) -> ServerConfig:
    """Parse one entry of `mcpServers`."""
    if not isinstance(entry, dict):
        return ServerConfig(name, scope, {}, fault="the configuration must be an object")
    try:
        return _parse(name, entry, scope, variables)
    except ValueError as error:
        kind = entry.get("type")
        return ServerConfig(name, scope, entry, type=kind if isinstance(kind, str) else "stdio", fault=str(error))


def _parse(name: str, entry: dict[str, Any], scope: str, variables: Mapping[str, str]) -> ServerConfig:
    kind = entry.get("type", "stdio")
    if kind == "stdio":
        if "command" not in entry and "url" in entry:
            raise ValueError('a server with a url needs "type": "http" or "sse"')
        return ServerConfig(
            name,
            scope,
            entry,
            command=expand(_text(entry, "command"), variables),
            args=tuple(expand(text, variables) for text in _texts(entry, "args")),
            env=_expand(entry, "env", variables),
        )
    if kind in REMOTE:
        url, headers = expand(_text(entry, "url"), variables), _expand(entry, "headers", variables)
        return ServerConfig(name, scope, entry, type=kind, url=url, headers=headers)
    if kind == "sdk":
        return ServerConfig(name, scope, entry, type="sdk")
    raise ValueError(f"type must be stdio, http, sse or sdk, got {kind!r}")


def _text(entry: dict[str, Any], key: str) -> str:
    value = entry.get(key)
    if not isinstance(value, str) or not value or "\0" in value:
        raise ValueError(f"{key} must be a text that is not empty")
    return value


def _texts(entry: dict[str, Any], key: str) -> list[str]:
    value = entry.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, str) and "\0" not in item for item in value):
        raise ValueError(f"{key} must be a list of texts")
    return value


def _expand(entry: dict[str, Any], key: str, variables: Mapping[str, str]) -> dict[str, str]:
    value = entry.get(key, {})
    if not isinstance(value, dict) or not all(isinstance(item, str) and "\0" not in item for item in value.values()):
        raise ValueError(f"{key} must be an object of texts")
    return {name: expand(text, variables) for name, text in value.items()}

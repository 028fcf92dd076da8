"""The MCP servers of `--mcp-config`. This version starts none: `init` lists them as failed."""

from __future__ import annotations

from pathlib import Path

from bridle.agent.command_line.options import Options
from bridle.agent.prompt.system_prompt import read_file
from bridle.errors import UsageError


def configured_servers(options: Options, cwd: Path) -> list[dict[str, str]]:
    """Return the servers of the command line. Raises UsageError if a configuration is invalid."""
    return [failed_server(name) for text in options.mcp_configs for name in _server_names(text, cwd)]


def failed_server(name: str) -> dict[str, str]:
    """Return the entry of a server that was not started."""
    return {"name": name, "status": "failed"}


def _server_names(text: str, cwd: Path) -> list[str]:
    import json

    if not text.lstrip().startswith("{"):
        path = cwd / text
        if not path.is_file():
            raise UsageError(f"Error: Invalid MCP configuration:\nMCP config file not found: {path}")
        text = read_file("--mcp-config", path)
    try:
        config = json.loads(text)
        return list(config["mcpServers"])
    except (ValueError, KeyError, TypeError):
        raise UsageError("Error: Invalid MCP configuration:\nmcpServers: expected an object of servers") from None

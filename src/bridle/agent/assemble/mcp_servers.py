"""The MCP servers of a run, made when one is configured or the host brings one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridle.agent.assemble.run_inputs import RunInputs
from bridle.agent.control.host_requests import HostRequests
from bridle.agent.sessions.open_session import project_folder
from bridle.agent.tools.contract.tool import ContentBlock, Tool

if TYPE_CHECKING:
    from bridle.agent.mcp.config import ServerConfig
    from bridle.agent.mcp.servers import McpServers
    from bridle.agent.mcp.transports.transport import Transport


class RunServers:
    """The servers of a run; nothing of MCP is imported before there is one."""

    def __init__(
        self, inputs: RunInputs, session_id: str, host: HostRequests | None, note: Callable[[str], None]
    ) -> None:
        """Start the configured servers. Raises UsageError if a flag is invalid."""
        self._inputs, self._session_id, self._host, self._note = inputs, session_id, host, note
        self._made: McpServers | None = None
        self.warnings: tuple[str, ...] = ()
        if _may_have_servers(inputs):
            from bridle.agent.assemble.mcp_configs import find_servers

            found = find_servers(inputs)
            self.warnings = found.warnings
            if found.configs:
                self._made = self._make(found.configs)

    def made(self) -> McpServers:
        """Return the servers, which may be an empty set."""
        if self._made is None:
            self._made = self._make([])
        return self._made

    def statuses(self) -> list[dict[str, str]]:
        """Return the `mcp_servers` of the `init` event."""
        return self._made.statuses() if self._made is not None else []

    def commands(self) -> list[dict[str, str]]:
        """Return the prompts of the servers as slash commands."""
        return self._made.commands() if self._made is not None else []

    def tools(self) -> dict[str, Tool]:
        """Return the tools of the servers by name."""
        return self._made.tools() if self._made is not None else {}

    def instructions(self) -> str | None:
        """Return what the servers want the model to know."""
        return self._made.instructions() if self._made is not None else None

    async def expand(self, text: str) -> tuple[str, list[ContentBlock]] | None:
        """Return the name and the blocks of the prompt that a slash command calls, or None."""
        return await self._made.expand(text) if self._made is not None else None

    async def started(self) -> None:
        """Wait until the servers have connected."""
        if self._made is not None:
            await self._made.started()

    async def refreshed(self) -> None:
        """Wait for tools that a server has announced."""
        if self._made is not None:
            await self._made.refreshed()

    async def close(self) -> None:
        """End the servers."""
        if self._made is not None:
            await self._made.close()

    def _make(self, configs: list[ServerConfig]) -> McpServers:
        from bridle.agent.mcp.limits import limits_from_environment
        from bridle.agent.mcp.server import Place
        from bridle.agent.mcp.servers import McpServers

        inputs = self._inputs
        folder = project_folder(inputs.config_folder, inputs.cwd) / self._session_id / "tool-results"
        limits = limits_from_environment(inputs.environment)
        return McpServers(configs, Place(inputs.cwd.as_uri(), limits, self._transport, self._note), folder)

    def _transport(self, config: ServerConfig) -> Transport:
        if config.type == "sdk":
            from bridle.agent.mcp.transports.in_host import HostTransport

            return HostTransport(config.name, self._host)
        if config.type == "stdio":
            from bridle.agent.mcp.transports.stdio import StdioTransport

            environment = {**self._environment(), **config.env}
            return StdioTransport(
                config.command, config.args, cwd=self._inputs.cwd, environment=environment, note=self._note
            )
        return _remote(config, self._inputs, self._note)

    def _environment(self) -> dict[str, str]:
        return {
            "CLAUDE_CODE_ENTRYPOINT": "sdk-cli",
            **self._inputs.environment,
            "AI_AGENT": "bridle-agent",
            "CLAUDECODE": "1",
            "CLAUDE_CODE_SESSION_ID": self._session_id,
            "CLAUDE_PROJECT_DIR": str(self._inputs.cwd),
        }


def mcp_handlers(servers: RunServers) -> dict[str, Callable[[dict[str, Any]], Any]]:
    """Return the handlers of the control requests about MCP servers."""
    from bridle.errors import UserError

    def status(_request: dict[str, Any]) -> dict[str, Any]:
        return {"mcpServers": servers.made().details()}

    async def reconnect(request: dict[str, Any]) -> None:
        await servers.made().reconnect(str(request.get("serverName")))

    async def toggle(request: dict[str, Any]) -> None:
        await servers.made().toggle(str(request.get("serverName")), enabled=request.get("enabled") is not False)

    async def set_servers(request: dict[str, Any]) -> dict[str, Any]:
        wanted = request.get("servers")
        if not isinstance(wanted, dict):
            raise UserError("servers must be an object of servers by name")
        return await servers.made().set_servers(wanted)

    return {"mcp_status": status, "mcp_reconnect": reconnect, "mcp_toggle": toggle, "mcp_set_servers": set_servers}


def _remote(config: ServerConfig, inputs: RunInputs, note: Callable[[str], None]) -> Transport:
    from bridle.agent.mcp.transports.remote import RemoteServer
    from bridle.agent.version import PROTOCOL_VERSION

    agent = f"bridle-agent/{PROTOCOL_VERSION}"
    server = RemoteServer(config.url, config.headers, inputs.environment, agent)
    if config.type == "sse":
        from bridle.agent.mcp.transports.sse import SseTransport

        return SseTransport(server, config.url, note)
    from bridle.agent.mcp.transports.streamable_http import HttpTransport

    return HttpTransport(server, note)


def _may_have_servers(inputs: RunInputs) -> bool:
    """Return whether a server may be configured, without importing anything for the runs that have none."""
    options = inputs.options
    if options.mcp_configs:
        return True
    if options.is_strict_mcp or options.is_bare or options.is_safe:
        return False
    return bool(options.plugin_dirs) or _has_file(inputs)


def _has_file(inputs: RunInputs) -> bool:
    from bridle.ground.git_folder import folders_up_to_top
    from bridle.ground.trust import claude_registers

    if any((folder / ".mcp.json").exists() for folder in folders_up_to_top(inputs.cwd)):
        return True
    return any(_mentions_servers(path) for path in claude_registers(inputs.environment, inputs.config_folder))


def _mentions_servers(path: Path) -> bool:
    try:
        return b'"mcpServers"' in path.read_bytes()
    except OSError:
        return False

"""The MCP servers of a session: started together, described to clients, changed by the host, ended at its end."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from bridle.agent.mcp import prompts
from bridle.agent.mcp.config import ServerConfig, parse_servers, tool_name
from bridle.agent.mcp.results import ResultReader
from bridle.agent.mcp.server import CONNECTED, DISABLED, PENDING, McpServer, Place
from bridle.agent.mcp.tools import ListResources, McpTool, ReadResource
from bridle.agent.tools.contract.tool import ContentBlock, Tool
from bridle.errors import UserError

# The API refuses longer names of tools, and with them the whole request.
NAME_CHARACTERS = 128


class McpServers:
    """All servers; the host may add, remove, disable and reconnect some of them."""

    def __init__(self, configs: list[ServerConfig], place: Place, folder: Path) -> None:
        """Results that are too large for the model are saved in `folder`."""
        self._place, self._folder = place, folder
        self._servers: dict[str, McpServer] = {config.name: McpServer(config, place) for config in configs}
        self._of_host: dict[str, None] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._tools: tuple[object, dict[str, Tool]] = (None, {})
        for server in self.all():
            self._start(server.connect())

    def all(self) -> list[McpServer]:
        """Return the servers in the order of their configuration."""
        return list(self._servers.values())

    async def started(self) -> None:
        """Wait until every server has connected or failed, or the time for that is over."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=self._place.limits.start_seconds)

    async def refreshed(self) -> None:
        """Wait for tools that a server has announced."""
        for server in self.all():
            await server.refreshed()

    async def close(self) -> None:
        """End all servers."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, *(server.close() for server in self.all()), return_exceptions=True)

    # What clients and the model see

    def statuses(self) -> list[dict[str, str]]:
        """Return the `mcp_servers` of the `init` event."""
        return [{"name": server.name, "status": server.status} for server in self.all()]

    def details(self) -> list[dict[str, Any]]:
        """Return the answer to `mcp_status`."""
        return [_detail(server) for server in self.all()]

    def tools(self) -> dict[str, Tool]:
        """Return the tools of the connected servers by name."""
        key = tuple((server.name, server.tools, server.has("resources")) for server in self.all())
        if self._tools[0] != key:
            self._tools = (key, self._make_tools())
        return self._tools[1]

    def instructions(self) -> str | None:
        """Return what the servers want the model to know; None if that is nothing."""
        given = {
            server.name: server.declared.instructions
            for server in self.all()
            if server.status == CONNECTED and server.declared is not None and server.declared.instructions
        }
        if not given:
            return None
        parts = "\n\n".join(f"## {name}\n{given[name]}" for name in sorted(given))
        return f"# MCP Server Instructions\n\nEach of these MCP servers says how to use it:\n\n{parts}"

    def commands(self) -> list[dict[str, str]]:
        """Return the prompts of the servers as slash commands."""
        return [
            {
                "name": prompts.command_name(server.name, prompt.name),
                "description": prompt.description,
                "argumentHint": " ".join(name for name, _ in prompt.arguments),
            }
            for server in self.all()
            if server.status == CONNECTED and server.declared is not None
            for prompt in server.declared.prompts
        ]

    async def expand(self, text: str) -> tuple[str, list[ContentBlock]] | None:
        """Return the name and the blocks of a prompt that a slash command calls; None if there is no such prompt.

        Raises UserError if an argument is missing or the server fails.
        """
        for server in self.all():
            for prompt in server.declared.prompts if server.declared is not None and server.status == CONNECTED else ():
                command = prompts.command_name(server.name, prompt.name)
                if text == f"/{command}" or text.startswith(f"/{command} "):
                    typed = text.removeprefix(f"/{command}").strip()
                    arguments = prompts.arguments_of(prompt, typed, command)
                    reader = ResultReader(server.name, prompt.name, command, self._folder, self._output_tokens)
                    return command, await prompts.expand_prompt(server, prompt, arguments, reader)
        return None

    # What the host may change

    def add_of_host(self, names: list[str]) -> None:
        """Add servers that run inside the host."""
        for config in parse_servers({name: {"type": "sdk", "name": name} for name in names}, "dynamic", {}):
            if config.name not in self._servers:
                self._start(self._add(config).connect())

    async def reconnect(self, name: str) -> None:
        """Connect a server again. Raises UserError if that fails."""
        server = self._named(name)
        await server.connect()
        if server.status != CONNECTED:
            raise UserError(server.error or f"Server status: {server.status}")

    async def toggle(self, name: str, *, enabled: bool) -> None:
        """Enable or disable a server."""
        server = self._named(name)
        if not enabled:
            await server.disable()
        elif server.status == DISABLED:
            await self.reconnect(name)

    async def set_servers(self, wanted: dict[str, Any]) -> dict[str, Any]:
        """Replace the servers that the host has set before; return which were added and removed, and their errors."""
        removed = [name for name in self._of_host if name not in wanted]
        for name in removed:
            await self._servers.pop(name).close()
            self._of_host.pop(name)
        known = self._servers.keys() - self._of_host.keys()
        configs = [config for config in parse_servers(wanted, "dynamic", {}) if config.name not in known]
        changed = [config for config in configs if not self._has(config)]
        for config in changed:
            if config.name in self._servers:
                await self._servers[config.name].close()
        added = [self._add(config) for config in changed]
        self._of_host |= dict.fromkeys(server.name for server in added)
        await asyncio.gather(*(server.connect() for server in added))
        errors = {server.name: server.error for server in added if server.status != CONNECTED}
        return {"added": [server.name for server in added], "removed": removed, "errors": errors}

    def _has(self, config: ServerConfig) -> bool:
        return config.name in self._servers and self._servers[config.name].config == config

    def _add(self, config: ServerConfig) -> McpServer:
        server = self._servers[config.name] = McpServer(config, self._place)
        return server

    def _named(self, name: str) -> McpServer:
        if name not in self._servers:
            raise UserError(f"Server not found: {name}")
        return self._servers[name]

    @property
    def _output_tokens(self) -> int:
        return self._place.limits.output_tokens

    def _make_tools(self) -> dict[str, Tool]:
        found: dict[str, Tool] = {}
        if any(server.has("resources") for server in self.all()):
            for kind in (ListResources, ReadResource):
                found[kind.name] = kind(self.all, self._folder)
        for server in self.all():
            for declared in server.tools:
                tool = McpTool(server, declared, self._folder, self._output_tokens)
                if len(tool.name) <= NAME_CHARACTERS:
                    found.setdefault(tool.name, tool)
                else:
                    self._place.note(f"the name of the tool {tool.name} is too long, so it is not offered")
        return found

    def _start(self, connecting: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(connecting)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _detail(server: McpServer) -> dict[str, Any]:
    detail: dict[str, Any] = {"name": server.name, "status": server.status}
    if server.status == CONNECTED and server.declared is not None:
        detail["serverInfo"] = server.declared.info
    if server.error and server.status not in (CONNECTED, PENDING):
        detail["error"] = server.error
    detail |= {"config": server.config.shown, "scope": server.config.scope}
    if server.status == CONNECTED:
        offered = {tool_name(server.name, tool.name): tool for tool in reversed(server.tools)}  # the first of a name
        tools = [tool for tool in server.tools if offered[tool_name(server.name, tool.name)] is tool]
        detail["tools"] = [{"name": tool.name, "annotations": tool.annotations} for tool in tools]
    return detail

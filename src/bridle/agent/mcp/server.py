"""One MCP server: connected, listed, called, connected again after it was lost, and disconnected."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from bridle.agent.mcp.config import ServerConfig
from bridle.agent.mcp.declared import DeclaredPrompt, DeclaredTool, read_prompt, read_tool, shorten
from bridle.agent.mcp.json_rpc import RpcConnection
from bridle.agent.mcp.limits import McpLimits
from bridle.agent.mcp.transports.transport import JsonObject, Note, Transport
from bridle.agent.version import PROTOCOL_VERSION
from bridle.errors import ServerFailure

MCP_VERSION = "2025-11-25"
# The versions that a server may answer with.
MCP_VERSIONS = frozenset({MCP_VERSION, "2025-06-18", "2025-03-26", "2024-11-05", "2024-10-07"})
# No more pages of a list are read, as in Claude Code: a server may have a next page forever.
PAGES = 20

CONNECTED, FAILED, PENDING, DISABLED, NEEDS_AUTH = "connected", "failed", "pending", "disabled", "needs-auth"


class Place(msgspec.Struct, frozen=True):
    """What all servers of a session share."""

    root: str
    """The URI of the project."""
    limits: McpLimits
    make_transport: Callable[[ServerConfig], Transport]
    """Raises ServerFailure if the configuration cannot be used."""
    note: Note


class Declared(msgspec.Struct, frozen=True):
    """What a connected server has."""

    info: JsonObject
    capabilities: JsonObject
    instructions: str = ""
    tools: tuple[DeclaredTool, ...] = ()
    prompts: tuple[DeclaredPrompt, ...] = ()


class McpServer:
    """A server and its connection. It fails without raising: `status` and `error` say so."""

    def __init__(self, config: ServerConfig, place: Place) -> None:
        self.config, self._place = config, place
        self.status, self.error = PENDING, ""
        self.declared: Declared | None = None
        self._rpc: RpcConnection | None = None
        self._lock = asyncio.Lock()
        self._refreshes: set[asyncio.Task[None]] = set()

    @property
    def name(self) -> str:
        return self.config.name

    @property
    def tools(self) -> tuple[DeclaredTool, ...]:
        """The tools that can be called now; those of a lost connection too, as a call connects again."""
        return self.declared.tools if self.declared is not None and self.status == CONNECTED else ()

    def has(self, capability: str) -> bool:
        """Return whether the server declared a capability: tools, prompts, resources."""
        return self.declared is not None and self.status == CONNECTED and capability in self.declared.capabilities

    async def connect(self) -> None:
        """Connect and list; on failure set `status` and `error`."""
        async with self._lock:
            await self._disconnect()
            self.status, self.error = PENDING, ""
            try:
                async with asyncio.timeout(self._place.limits.connect_seconds):
                    await self._open()
                self.status = CONNECTED
            except ServerFailure as failure:
                self._fail(failure.message, NEEDS_AUTH if failure.needs_login else FAILED)
            except TimeoutError:
                self._fail(f"connection timed out after {self._place.limits.connect_seconds * 1000:.0f}ms")
            except Exception as error:  # noqa: BLE001  # whatever a server sends, the session continues
                self._fail(f"{type(error).__name__}: {error}")
            if self.status != CONNECTED:
                await self._disconnect()

    async def disable(self) -> None:
        """Disconnect until the host enables the server."""
        await self.close()
        self.status, self.error = DISABLED, ""

    async def close(self) -> None:
        """Disconnect; a server that is a child process ends."""
        for task in list(self._refreshes):
            task.cancel()
        await self._disconnect()

    async def call(self, tool: str, arguments: JsonObject, call_id: str) -> JsonObject:
        """Call a tool and return the result as sent. Raises ServerFailure."""
        params = {"name": tool, "arguments": arguments, "_meta": {"claudecode/toolUseId": call_id}}
        seconds = self._place.limits.call_seconds
        try:
            async with asyncio.timeout(seconds):
                return await self.request("tools/call", params)
        except ServerFailure as failure:
            if failure.needs_login:
                self._fail(failure.message, NEEDS_AUTH)
            raise
        except TimeoutError:
            text = f'MCP server "{self.name}" tool "{tool}" timed out after {int(seconds)}s'
            raise ServerFailure(text) from None

    async def request(self, method: str, params: JsonObject | None = None) -> JsonObject:
        """Send a request; connect first if the connection was lost. Raises ServerFailure."""
        if self._rpc is None or self._rpc.lost_because is not None:
            await self.connect()
        if self._rpc is None:
            raise ServerFailure(self.error or "the server is not connected")
        return await self._rpc.request(method, params)

    async def list_all(self, method: str, key: str) -> list[Any]:
        """Return all entries of a list that the server may send in pages."""
        entries: list[Any] = []
        cursor: Any = None
        for _ in range(PAGES):
            assert self._rpc is not None  # noqa: S101 -- for the type checker: it is connected
            result = await self._rpc.request(method, None if cursor is None else {"cursor": cursor})
            found = result.get(key)
            entries += found if isinstance(found, list) else []
            cursor = result.get("nextCursor")
            if not isinstance(cursor, str) or not cursor:
                break
        return entries

    # Connecting

    async def _open(self) -> None:
        if self.config.fault is not None:
            raise ServerFailure(self.config.fault)
        self._rpc = RpcConnection(
            self._place.make_transport(self.config),
            root=self._place.root,
            on_notification=self._on_notification,
            on_lost=lambda reason: self._place.note(f"the MCP server {self.name} is gone: {reason}"),
        )
        await self._rpc.open()
        answer = await self._rpc.request("initialize", self._hello())
        version = answer.get("protocolVersion", MCP_VERSION)
        if not isinstance(version, str) or version not in MCP_VERSIONS:
            raise ServerFailure(f"Server's protocol version is not supported: {version}")
        await self._rpc.ready(version)
        await self._rpc.notify_now("notifications/initialized")
        self.declared = await self._list(answer)

    def _hello(self) -> JsonObject:
        capabilities: JsonObject = {} if self.config.type == "sdk" else {"roots": {}, "elicitation": {}}
        client = {"name": "bridle-agent", "title": "bridle-agent", "version": PROTOCOL_VERSION}
        return {"protocolVersion": MCP_VERSION, "capabilities": capabilities, "clientInfo": client}

    async def _list(self, answer: JsonObject) -> Declared:
        info, capabilities = _object(answer, "serverInfo"), _object(answer, "capabilities")
        instructions = answer.get("instructions")
        return Declared(
            info,
            capabilities,
            shorten(instructions) if isinstance(instructions, str) else "",
            await self._list_tools() if "tools" in capabilities else (),
            await self._list_prompts() if "prompts" in capabilities else (),
        )

    async def _list_tools(self) -> tuple[DeclaredTool, ...]:
        entries = await self.list_all("tools/list", "tools")
        return tuple(tool for entry in entries if (tool := read_tool(entry)) is not None)

    async def _list_prompts(self) -> tuple[DeclaredPrompt, ...]:
        entries = await self.list_all("prompts/list", "prompts")
        return tuple(prompt for entry in entries if (prompt := read_prompt(entry)) is not None)

    def _on_notification(self, method: str) -> None:
        if method in ("notifications/tools/list_changed", "notifications/prompts/list_changed"):
            task = asyncio.ensure_future(self._refresh(method))
            self._refreshes.add(task)
            task.add_done_callback(self._refreshes.discard)

    async def refreshed(self) -> None:
        """Wait for lists that are being read again."""
        if self._refreshes:
            await asyncio.wait(self._refreshes, timeout=self._place.limits.connect_seconds)

    async def _refresh(self, method: str) -> None:
        try:
            if self.declared is not None and "tools" in method:
                tools = await self._list_tools()
                self.declared = msgspec.structs.replace(self.declared, tools=tools)
            elif self.declared is not None:
                prompts = await self._list_prompts()
                self.declared = msgspec.structs.replace(self.declared, prompts=prompts)
        except ServerFailure as failure:
            self._place.note(f"cannot list again what the MCP server {self.name} has: {failure.message}")

    def _fail(self, reason: str, status: str = FAILED) -> None:
        self.status, self.error = status, reason
        self._place.note(f"the MCP server {self.name} failed: {reason}")

    async def _disconnect(self) -> None:
        rpc, self._rpc = self._rpc, None
        if rpc is not None:
            await rpc.close()


def _object(answer: JsonObject, key: str) -> JsonObject:
    value = answer.get(key)
    return value if isinstance(value, dict) else {}

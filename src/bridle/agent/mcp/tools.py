"""The tools that MCP servers bring: one for each tool of a server, and those that read resources."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from bridle.agent.mcp.config import tool_name
from bridle.agent.mcp.declared import DeclaredTool
from bridle.agent.mcp.results import SHOWN_CHARACTERS, ResultReader, persist, save_binary
from bridle.agent.mcp.server import CONNECTED, McpServer
from bridle.agent.tools.contract.input_schema import JsonSchema, input_schema
from bridle.agent.tools.contract.tool import ToolResult, failed_result
from bridle.errors import DiskError, ServerFailure
from bridle.wire.events.loose_json import to_bytes

# The error code of a resource that does not exist.
NOT_FOUND = -32002
_TEXT = {"type": "string"}


class McpTool:
    """A tool of a server, under the name that the model calls it by."""

    input_type = dict

    def __init__(self, server: McpServer, declared: DeclaredTool, folder: Path, output_tokens: int) -> None:
        self.name = tool_name(server.name, declared.name)
        self.description, self.schema = declared.description, declared.schema
        self.is_read_only = declared.is_read_only
        self.title = declared.title
        self._server, self._tool = server, declared.name
        self._reader = ResultReader(server.name, declared.name, self.name, folder, output_tokens)

    @property
    def server_title(self) -> str | None:
        """The name by which the server presents itself."""
        declared = self._server.declared
        name = declared.info.get("name") if declared is not None else None
        return name if isinstance(name, str) else None

    async def run(self, request: Any, *, call_id: str) -> ToolResult:
        """Call the tool; a failure of the server is the result."""
        try:
            return self._reader.read(await self._server.call(self._tool, request, call_id), call_id)
        except (ServerFailure, DiskError) as failure:
            return failed_result(failure.message)


class ListInput(msgspec.Struct, frozen=True):
    """The input of ListMcpResourcesTool."""

    server: str | None = None


class ReadInput(msgspec.Struct, frozen=True):
    """The input of ReadMcpResourceTool."""

    server: str
    uri: str


class _ResourceTool:
    """What both tools need: the servers by name."""

    def __init__(self, servers: Callable[[], Sequence[McpServer]], folder: Path) -> None:
        self._servers, self._folder = servers, folder

    def _result(self, detail: Any, call_id: str) -> ToolResult:
        text = to_bytes(detail).decode()
        return ToolResult(
            text if len(text) <= SHOWN_CHARACTERS else persist(text, call_id, self._folder), detail=detail
        )

    def _find(self, name: str) -> McpServer:
        servers = self._servers()
        for server in servers:
            if server.name == name:
                if server.status == CONNECTED and not server.has("resources"):
                    raise ServerFailure(f'Server "{name}" does not support resources')
                return server
        listed = ", ".join(server.name for server in servers)
        raise ServerFailure(f'Server "{name}" not found. Available servers: {listed}')


class ListResources(_ResourceTool):
    """Lists the resources of one server, or of all."""

    name = "ListMcpResourcesTool"
    description = (
        "List the resources of the MCP servers. server limits the list to one of them. Each entry has its uri, name "
        "and server; read one with ReadMcpResourceTool."
    )
    input_type = ListInput
    schema: ClassVar[JsonSchema] = input_schema({"server": _TEXT}, [])

    async def run(self, request: ListInput, *, call_id: str) -> ToolResult:
        try:
            chosen = (
                [self._find(request.server)] if request.server else [s for s in self._servers() if s.has("resources")]
            )
            found = [entry for server in chosen for entry in await self._resources(server)]
            if not found:
                return ToolResult("No resources found. MCP servers may still have tools.", detail=[])
            return self._result(found, call_id)
        except (ServerFailure, DiskError) as failure:
            return failed_result(failure.message)

    async def _resources(self, server: McpServer) -> list[dict[str, Any]]:
        result = await server.request("resources/list")
        entries = result.get("resources")
        listed = [entry for entry in (entries if isinstance(entries, list) else []) if isinstance(entry, dict)]
        first = ("name", "uri", "description", "mimeType")
        return [
            {**{key: entry[key] for key in first if key in entry}, **entry, "server": server.name} for entry in listed
        ]


class ReadResource(_ResourceTool):
    """Reads one resource of a server."""

    name = "ReadMcpResourceTool"
    description = (
        "Read a resource of an MCP server: server is the server's name, uri the address of the resource as "
        "ListMcpResourcesTool lists it. Binary content is saved to a file, which the result names."
    )
    input_type = ReadInput
    schema: ClassVar[JsonSchema] = input_schema({"server": _TEXT, "uri": _TEXT}, ["server", "uri"])

    async def run(self, request: ReadInput, *, call_id: str) -> ToolResult:
        try:
            server = self._find(request.server)
            result = await server.request("resources/read", {"uri": request.uri})
            contents = result.get("contents")
            if not isinstance(contents, list) or not all(isinstance(entry, dict) for entry in contents):
                return failed_result("the server returned a malformed resource: contents must be a list of objects")
            return self._result({"contents": [self._content(entry, server.name) for entry in contents]}, call_id)
        except ServerFailure as failure:
            return _missing(request.uri) if failure.rpc_code == NOT_FOUND else failed_result(failure.message)
        except DiskError as failure:
            return failed_result(failure.message)

    def _content(self, entry: dict[str, Any], server: str) -> dict[str, Any]:
        blob = entry.get("blob")
        if not isinstance(blob, str):
            return entry
        kind = entry.get("mimeType") if isinstance(entry.get("mimeType"), str) else "application/octet-stream"
        path, size = save_binary(self._folder, "mcp-resource", blob, str(kind))
        text = f"[Resource from {server} at {entry.get('uri')}] Binary content ({kind}, {size} bytes) saved to {path}"
        kept = {key: value for key, value in entry.items() if key != "blob"}
        return {**kept, "blobSavedTo": str(path), "text": text}


def _missing(uri: str) -> ToolResult:
    text = f"Resource not found: {uri} — it may be gone or named wrongly. List them again with ListMcpResourcesTool."
    return ToolResult(text, detail={"contents": [], "error": text})

"""The methods of the Agent Client Protocol, and the sessions that editors open with them."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bridle import __version__
from bridle.agent.acp.editor_files import FileMethods
from bridle.agent.acp.json_rpc import INVALID_PARAMS, METHOD_NOT_FOUND, RESOURCE_NOT_FOUND, RpcError
from bridle.agent.acp.peer import Peer
from bridle.agent.acp.prompt_blocks import mcp_servers, prompt_blocks
from bridle.agent.acp.session import AcpSession, SessionOutput
from bridle.agent.assemble.run_agent import assemble
from bridle.agent.command_line import flags
from bridle.agent.command_line.options import Options, make_options
from bridle.agent.sessions.open_session import is_uuid
from bridle.errors import SessionError, UserError
from bridle.wire.events.loose_json import JsonObject, to_bytes

PROTOCOL_VERSION = 1

# What a session is besides the flags of the user: a conversation with a host, which shows frames and is asked.
# An editor has no form for AskUserQuestion.
_FLAGS = (
    *("--input-format=stream-json", "--output-format=stream-json", "--verbose", "--include-partial-messages"),
    *("--permission-prompt-tool=stdio", "--disallowedTools=AskUserQuestion"),
)
_BYPASS = "bypassPermissions"
_MODES = {
    "default": ("Ask", "Asks before it changes files or runs commands"),
    "acceptEdits": ("Accept edits", "Edits files in the working folders, and asks before it runs commands"),
    "plan": ("Plan", "Reads and plans, and changes nothing"),
    "dontAsk": ("Do not ask", "Does what the rules allow, and denies everything else"),
    _BYPASS: ("Bypass permissions", "Asks for nothing"),
}


class AcpServer:
    """Answers the methods of one connection."""

    def __init__(self, arguments: list[str], environment: Mapping[str, str], write: Callable[[bytes], None]) -> None:
        """`arguments` are the flags of every session. Raises UserError if one is invalid."""
        self._arguments = arguments
        # With this tool the model keeps one list, which editors show as the plan.
        self._environment = {"CLAUDE_CODE_ENABLE_TASKS": "0", **environment}
        self._sessions: dict[str, AcpSession] = {}
        self._files = FileMethods()
        self._methods = {
            "initialize": self._initialize,
            "session/new": self._new,
            "session/load": self._load,
            "session/resume": self._resume,
            "session/prompt": self._prompt,
            "session/cancel": self._cancel,
            "session/set_mode": self._set_mode,
            "session/close": self._close_session,
        }
        self.peer = Peer(write, self._handle)
        options = self._options(())
        self._may_bypass = options.skips_permissions or options.may_skip_permissions

    async def close(self) -> None:
        """End every session; prompts that run are answered."""
        self.peer.close()
        sessions = list(self._sessions.values())
        self._sessions.clear()
        await asyncio.gather(*(session.close() for session in sessions))
        await self.peer.drained()

    async def _handle(self, method: str, params: JsonObject) -> Any:
        answer = self._methods.get(method)
        if answer is None:
            raise RpcError(METHOD_NOT_FOUND, f"Method not found: {method}")
        return await answer(params)

    async def _initialize(self, params: JsonObject) -> JsonObject:
        self._files = FileMethods.of(params)
        return {
            "protocolVersion": PROTOCOL_VERSION,
            "agentInfo": {"name": "bridle-agent", "title": "bridle-agent", "version": __version__},
            "agentCapabilities": {
                "loadSession": True,
                "promptCapabilities": {"image": True, "audio": False, "embeddedContext": True},
                "mcpCapabilities": {"http": True, "sse": True},
                "sessionCapabilities": {"resume": {}, "close": {}, "additionalDirectories": {}},
            },
            "authMethods": [],
        }

    async def _new(self, params: JsonObject) -> JsonObject:
        session = self._open(params, ())
        return {"sessionId": session.id, **await self._opened(session)}

    async def _load(self, params: JsonObject) -> JsonObject:
        session = self._open(params, (f"--resume={_session_id(params)}",))
        session.replay()
        return await self._opened(session)

    async def _resume(self, params: JsonObject) -> JsonObject:
        return await self._opened(self._open(params, (f"--resume={_session_id(params)}",)))

    async def _prompt(self, params: JsonObject) -> JsonObject:
        return await self._session(params).prompt(prompt_blocks(params.get("prompt")))

    async def _cancel(self, params: JsonObject) -> None:
        await self._session(params).cancel()

    async def _set_mode(self, params: JsonObject) -> JsonObject:
        mode = params.get("modeId")
        if mode not in _MODES:
            raise RpcError(INVALID_PARAMS, f"Invalid params: modeId must be one of {', '.join(_MODES)}, got {mode!r}")
        await self._session(params).set_mode(str(mode))
        return {}

    async def _close_session(self, params: JsonObject) -> JsonObject:
        session = self._session(params)
        del self._sessions[session.id]
        await session.close()
        return {}

    def _open(self, params: JsonObject, more: tuple[str, ...]) -> AcpSession:
        cwd = params.get("cwd")
        if not isinstance(cwd, str) or not Path(cwd).is_absolute() or not Path(cwd).is_dir():
            raise RpcError(INVALID_PARAMS, f"Invalid params: cwd must be the absolute path of a folder, got {cwd!r}")
        folders = params.get("additionalDirectories") or []
        more += tuple(f"--add-dir={folder}" for folder in folders if isinstance(folder, str))
        if servers := mcp_servers(params.get("mcpServers")):
            more += (f"--mcp-config={to_bytes({'mcpServers': servers}).decode()}",)
        output = SessionOutput()
        try:
            run = assemble(self._options(more), Path(cwd), self._environment, output=output)
        except SessionError as error:
            raise RpcError(RESOURCE_NOT_FOUND, error.message) from error
        except UserError as error:
            raise RpcError(INVALID_PARAMS, error.message) from error
        for warning in run.warnings:
            sys.stderr.write(f"{warning}\n")
        session = AcpSession(run, output, self.peer, cwd, self._files)
        self._sessions[session.id] = session
        return session

    async def _opened(self, session: AcpSession) -> JsonObject:
        """Return what an editor learns of an open session; its commands follow the response."""
        described = await session.begin()
        asyncio.get_running_loop().call_soon(session.show_commands, described.get("commands") or [])
        modes = [
            {"id": mode, "name": name, "description": text}
            for mode, (name, text) in _MODES.items()
            if mode != _BYPASS or self._may_bypass or session.mode == _BYPASS
        ]
        return {"modes": {"currentModeId": session.mode, "availableModes": modes}}

    def _options(self, more: tuple[str, ...]) -> Options:
        return make_options(flags.parse([*self._arguments, *_FLAGS, *more]))

    def _session(self, params: JsonObject) -> AcpSession:
        session = self._sessions.get(str(params.get("sessionId")))
        if session is None:
            raise RpcError(RESOURCE_NOT_FOUND, f"Session not found: {params.get('sessionId')}")
        return session


def _session_id(params: JsonObject) -> str:
    session_id = params.get("sessionId")
    if not isinstance(session_id, str) or not is_uuid(session_id):
        raise RpcError(RESOURCE_NOT_FOUND, f"Session not found: {session_id}")
    return session_id

"""Files that are open in the editor: unsaved changes are seen by the model and never overwritten.

The tools read and write the disk. Before a tool changes a file the editor is asked for its text; after a tool has read
or changed one, the model gets the unsaved text, or the editor the new one. Only what the editor offers is used.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any, Protocol

import msgspec

from bridle.agent.acp.json_rpc import RpcError
from bridle.wire.events.loose_json import JsonObject

BEFORE_CHANGE, AFTER_READ, AFTER_CHANGE = "before_change", "after_read", "after_change"
_CHANGES = "Edit|Write"
# The text is in the memory of the editor; one that does not answer must not stop the turn.
ANSWER_SECONDS = 10.0
# More would fill the context of the model; the user can save the file instead.
SHOWN_CHARACTERS = 100_000

_UNSAVED = (
    "{path} has changes in the editor that are not saved, so it was not changed. Ask the user to save or discard them,"
    " then read the file again."
)
_SHOWN = "{path} has changes in the editor that are not saved. Its text there, which the user sees:\n{text}"


class Requests(Protocol):
    """The requests of a connection."""

    async def request(self, method: str, params: JsonObject) -> Any:
        """Send a request and return its result."""


class FileMethods(msgspec.Struct, frozen=True):
    """What the editor offers."""

    reads: bool = False
    writes: bool = False

    @classmethod
    def of(cls, params: JsonObject) -> FileMethods:
        """Read the parameters of `initialize`."""
        match params:
            case {"clientCapabilities": {"fs": dict(files)}}:
                return cls(files.get("readTextFile") is True, files.get("writeTextFile") is True)
        return cls()


class EditorFiles:
    """The files of one session in the editor."""

    def __init__(self, editor: Requests, methods: FileMethods, session_id: str, cwd: str) -> None:
        self._editor, self._methods, self._session_id, self._cwd = editor, methods, session_id, cwd

    def hooks(self) -> JsonObject:
        """Return the hooks that a session registers for this."""
        before = [_hook(_CHANGES, BEFORE_CHANGE)] if self._methods.reads else []
        after = [_hook("Read", AFTER_READ)] if self._methods.reads else []
        after += [_hook(_CHANGES, AFTER_CHANGE)] if self._methods.writes else []
        return {event: hooks for event, hooks in (("PreToolUse", before), ("PostToolUse", after)) if hooks}

    async def answer(self, callback_id: object, sent: JsonObject) -> JsonObject:
        """Answer a hook."""
        given = sent.get("tool_input")
        path = given.get("file_path") if isinstance(given, dict) else None
        if not isinstance(path, str):
            return {}
        path = os.path.join(self._cwd, path)
        if callback_id == AFTER_CHANGE:
            await self._write(path)
            return {}
        text = await self._unsaved(path)
        if text is None:
            return {}
        if callback_id == BEFORE_CHANGE:
            return _output("PreToolUse", permissionDecision="deny", permissionDecisionReason=_UNSAVED.format(path=path))
        return _output("PostToolUse", additionalContext=_SHOWN.format(path=path, text=text[:SHOWN_CHARACTERS]))

    async def _unsaved(self, path: str) -> str | None:
        """Return the text of the editor if it differs from the file; None if it does not, or the editor has none."""
        saved = await asyncio.to_thread(_text_of, path)
        if saved is None:
            return None
        match await self._ask("fs/read_text_file", path=path):
            case {"content": str(text)} if _lines(text) != _lines(saved):
                return text
        return None

    async def _write(self, path: str) -> None:
        text = await asyncio.to_thread(_text_of, path)
        if text is not None:
            await self._ask("fs/write_text_file", path=path, content=text)

    async def _ask(self, method: str, **params: str) -> Any:
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return await self._editor.request(method, {"sessionId": self._session_id, **params})
        except (RpcError, TimeoutError):
            return None  # the file is not open, or not one that the editor shows


def _hook(matcher: str, callback_id: str) -> JsonObject:
    return {"matcher": matcher, "hookCallbackIds": [callback_id]}


def _output(event: str, **fields: str) -> JsonObject:
    return {"hookSpecificOutput": {"hookEventName": event, **fields}}


def _text_of(path: str) -> str | None:
    """Return the text of a file; None if it is missing or not UTF-8."""
    try:
        return Path(path).read_bytes().decode()
    except (OSError, ValueError):
        return None


def _lines(text: str) -> list[str]:
    """Return the lines; editors may keep line ends apart from the text."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").rstrip("\n").split("\n")

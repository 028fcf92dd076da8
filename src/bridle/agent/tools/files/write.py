"""Write: a whole new content for a file."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bridle.agent.tools.contract.declarations import WRITE
from bridle.agent.tools.contract.in_thread import run_in_thread
from bridle.agent.tools.contract.tool import ToolResult, rejected_call
from bridle.agent.tools.contract.tool_paths import reject_invalid_path, resolve_path
from bridle.agent.tools.files.change import (
    NOT_READ,
    CannotChange,
    CurrentFile,
    encode_text,
    is_folder,
    read_current,
    require_read,
    write_file,
)
from bridle.agent.tools.files.diff_hunks import structured_patch
from bridle.agent.tools.files.known_files import FileMemory
from bridle.agent.tools.files.text_file import replace_broken_bytes, replace_surrogates

CURRENT = "(file state is current in your context — no need to Read it back)"


class Write:
    """Creates and replaces files."""

    name = WRITE.name
    description = WRITE.description
    schema = WRITE.schema

    def __init__(self, folder: Callable[[], Path], memory: FileMemory) -> None:
        self._folder = folder
        self._memory = memory

    async def run(self, arguments: Mapping[str, Any], *, call_id: str) -> ToolResult:  # noqa: ARG002 - as every tool
        """Write the file."""
        given, content = arguments["file_path"], replace_surrogates(arguments["content"])
        return await run_in_thread(lambda abandoned: self._write(given, content, abandoned))

    def _write(self, given: str, content: str, abandoned: threading.Event) -> ToolResult:
        if answer := reject_invalid_path(given):
            return answer
        path = resolve_path(self._folder(), given)
        if is_folder(path):
            return rejected_call(NOT_READ)
        with self._memory.alone(path):
            try:
                found = read_current(path, self.name)
                if found is None:
                    return self._create(path, given, content, found, abandoned)
                require_read(self._memory, path, found)
                # An empty file counts as none.
                act = self._update if found.data else self._create
                return act(path, given, content, found, abandoned)
            except CannotChange as error:
                return error.answer

    def _create(
        self, path: Path, given: str, content: str, found: CurrentFile | None, abandoned: threading.Event
    ) -> ToolResult:
        if answer := write_file(self._memory, path, content.encode(), found=found, abandoned=abandoned):
            return answer
        detail: dict[str, Any] = {
            "type": "create",
            "filePath": given,
            "content": content,
            "structuredPatch": [],
            "originalFile": None,
        }
        return ToolResult(f"File created successfully at: {given} {CURRENT}", detail={**detail, "userModified": False})

    def _update(
        self, path: Path, given: str, content: str, found: CurrentFile, abandoned: threading.Event
    ) -> ToolResult:
        data = encode_text(found, _in_form_of(found, content), path)
        if answer := write_file(self._memory, path, data, found=found, abandoned=abandoned):
            return answer
        old = replace_broken_bytes(found.text.text)
        mark = "\ufeff" if old.startswith("\ufeff") and not content.startswith("\ufeff") else ""
        detail = {
            "type": "update",
            "filePath": given,
            "content": content,
            "structuredPatch": structured_patch(old, mark + content),
            "originalFile": old,
            "userModified": False,
        }
        return ToolResult(f"The file {given} has been updated successfully. {CURRENT}", detail=detail)


def _in_form_of(found: CurrentFile, content: str) -> str:
    """With the byte order mark and the line endings of the file: Read showed it without them."""
    old = found.text.raw
    if old.startswith("\ufeff") and not content.startswith("\ufeff"):
        content = "\ufeff" + content
    is_windows = "\r\n" in old and old.count("\r\n") == old.count("\n")
    return content.replace("\n", "\r\n") if is_windows and "\r\n" not in content else content

"""The Write tool: creates a file or replaces its content."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from bridle.agent.tools.contract.in_thread import run_in_thread
from bridle.agent.tools.contract.tool import PathInput, ToolResult, rejected_call
from bridle.agent.tools.contract.tool_paths import path_of_call, reject_invalid_path
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


class WriteInput(PathInput, frozen=True):
    """The input of Write."""

    file_path: str
    content: str


class Write:
    """Creates and replaces files."""

    input_type = WriteInput

    def __init__(self, folder: Callable[[], Path], memory: FileMemory) -> None:
        self._folder = folder
        self._memory = memory

    async def run(self, request: WriteInput, *, call_id: str) -> ToolResult:  # noqa: ARG002  # part of the tool interface
        content = replace_surrogates(request.content)
        return await run_in_thread(lambda cancelled: self._write(request, content, cancelled))

    def _write(self, request: WriteInput, content: str, cancelled: threading.Event) -> ToolResult:
        name = request.file_path
        if rejection := reject_invalid_path(name):
            return rejection
        path = path_of_call(request, self._folder(), name)
        if is_folder(path):
            return rejected_call(NOT_READ)
        with self._memory.lock(path):
            try:
                current = read_current(path, "Write")
                if current is None:
                    return self._create(path, name, content, current, cancelled)
                require_read(self._memory, path, current)
                # An empty file counts as missing.
                write = self._update if current.data else self._create
                return write(path, name, content, current, cancelled)
            except CannotChange as error:
                return error.result

    def _create(
        self, path: Path, name: str, content: str, current: CurrentFile | None, cancelled: threading.Event
    ) -> ToolResult:
        if error := write_file(self._memory, path, content.encode(), current=current, cancelled=cancelled):
            return error
        detail: dict[str, object] = {
            "type": "create",
            "filePath": name,
            "content": content,
            "structuredPatch": [],
            "originalFile": None,
        }
        return ToolResult(f"File created successfully at: {name} {CURRENT}", detail={**detail, "userModified": False})

    def _update(
        self, path: Path, name: str, content: str, current: CurrentFile, cancelled: threading.Event
    ) -> ToolResult:
        data = encode_text(current, _with_mark_of(current, content), path)
        if error := write_file(self._memory, path, data, current=current, cancelled=cancelled):
            return error
        old = replace_broken_bytes(current.text.text)
        mark = "\ufeff" if old.startswith("\ufeff") and not content.startswith("\ufeff") else ""
        detail = {
            "type": "update",
            "filePath": name,
            "content": content,
            "structuredPatch": structured_patch(old, mark + content),
            "originalFile": old,
            "userModified": False,
        }
        return ToolResult(f"The file {name} has been updated successfully. {CURRENT}", detail=detail)


def _with_mark_of(current: CurrentFile, content: str) -> str:
    """Return the content with the file's byte order mark, which Read does not show; line ends are as sent."""
    has_mark = current.text.raw.startswith("\ufeff")
    return "\ufeff" + content if has_mark and not content.startswith("\ufeff") else content

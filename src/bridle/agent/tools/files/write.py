"""Write: a whole new content for a file."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bridle.agent.tools.contract.declarations import WRITE
from bridle.agent.tools.contract.in_thread import offload
from bridle.agent.tools.contract.tool import Answer, refused
from bridle.agent.tools.contract.tool_paths import locate, unsuitable
from bridle.agent.tools.files.change import NOT_READ, Found, Unchangeable, encoded, find, is_folder, put, require_known
from bridle.agent.tools.files.diff_hunks import structured_patch
from bridle.agent.tools.files.known_files import FileMemory
from bridle.agent.tools.files.text_file import shown, writable

CURRENT = "(file state is current in your context — no need to Read it back)"


class Write:
    """Creates and replaces files."""

    name = WRITE.name
    description = WRITE.description
    schema = WRITE.schema

    def __init__(self, folder: Callable[[], Path], memory: FileMemory) -> None:
        self._folder = folder
        self._memory = memory

    async def run(self, arguments: Mapping[str, Any], *, call_id: str) -> Answer:  # noqa: ARG002 - as every tool
        """Write the file."""
        given, content = arguments["file_path"], writable(arguments["content"])
        return await offload(lambda abandoned: self._write(given, content, abandoned))

    def _write(self, given: str, content: str, abandoned: threading.Event) -> Answer:
        if answer := unsuitable(given):
            return answer
        path = locate(self._folder(), given)
        if is_folder(path):
            return refused(NOT_READ)
        with self._memory.alone(path):
            try:
                found = find(path, self.name)
                if found is None:
                    return self._create(path, given, content, found, abandoned)
                require_known(self._memory, path, found)
                # An empty file counts as none.
                act = self._update if found.data else self._create
                return act(path, given, content, found, abandoned)
            except Unchangeable as error:
                return error.answer

    def _create(self, path: Path, given: str, content: str, found: Found | None, abandoned: threading.Event) -> Answer:
        if answer := put(self._memory, path, content.encode(), found=found, abandoned=abandoned):
            return answer
        detail: dict[str, Any] = {
            "type": "create",
            "filePath": given,
            "content": content,
            "structuredPatch": [],
            "originalFile": None,
        }
        return Answer(f"File created successfully at: {given} {CURRENT}", detail={**detail, "userModified": False})

    def _update(self, path: Path, given: str, content: str, found: Found, abandoned: threading.Event) -> Answer:
        data = encoded(found, _in_form_of(found, content), path)
        if answer := put(self._memory, path, data, found=found, abandoned=abandoned):
            return answer
        old = shown(found.text.text)
        mark = "\ufeff" if old.startswith("\ufeff") and not content.startswith("\ufeff") else ""
        detail = {
            "type": "update",
            "filePath": given,
            "content": content,
            "structuredPatch": structured_patch(old, mark + content),
            "originalFile": old,
            "userModified": False,
        }
        return Answer(f"The file {given} has been updated successfully. {CURRENT}", detail=detail)


def _in_form_of(found: Found, content: str) -> str:
    """With the byte order mark and the line endings of the file: Read showed it without them."""
    old = found.text.raw
    if old.startswith("\ufeff") and not content.startswith("\ufeff"):
        content = "\ufeff" + content
    is_windows = "\r\n" in old and old.count("\r\n") == old.count("\n")
    return content.replace("\n", "\r\n") if is_windows and "\r\n" not in content else content

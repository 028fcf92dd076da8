"""Edit: one text in a file replaced by another."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bridle.agent.tools.contract.declarations import EDIT
from bridle.agent.tools.contract.in_thread import run_in_thread
from bridle.agent.tools.contract.tool import ToolResult, failed_result, rejected_call
from bridle.agent.tools.contract.tool_paths import missing_file_message, reject_invalid_path, resolve_path
from bridle.agent.tools.files.change import (
    NOT_READ,
    CannotChange,
    CurrentFile,
    encode_text,
    read_current,
    require_read,
    write_file,
)
from bridle.agent.tools.files.diff_hunks import structured_patch
from bridle.agent.tools.files.known_files import FileMemory
from bridle.agent.tools.files.text_file import replace_broken_bytes, replace_surrogates
from bridle.agent.tools.files.write import CURRENT

# Models write straight quotes where a file has curly ones, and mean the same place.
_STRAIGHT = str.maketrans({"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"'})
_OPENERS = frozenset(" \t\n\r([{\u2014\u2013")


@dataclass(frozen=True)
class _Request:
    given: str
    old: str
    new: str
    everywhere: bool


class Edit:
    """Replaces text in files."""

    name = EDIT.name
    description = EDIT.description
    schema = EDIT.schema

    def __init__(self, folder: Callable[[], Path], memory: FileMemory) -> None:
        self._folder = folder
        self._memory = memory

    async def run(self, arguments: Mapping[str, Any], *, call_id: str) -> ToolResult:  # noqa: ARG002 - as every tool
        """Edit the file."""
        request = _Request(
            arguments["file_path"],
            arguments["old_string"],
            replace_surrogates(arguments["new_string"]),
            arguments.get("replace_all", False),
        )
        return await run_in_thread(lambda abandoned: self._edit(request, abandoned))

    def _edit(self, request: _Request, abandoned: threading.Event) -> ToolResult:
        if answer := reject_invalid_path(request.given):
            return answer
        if request.old == request.new:
            return rejected_call("No changes to make: old_string and new_string are exactly the same.")
        folder = self._folder()
        path = resolve_path(folder, request.given)
        with self._memory.alone(path):
            try:
                found = read_current(path, self.name)
                if found is None and request.old:
                    return rejected_call(missing_file_message(path, folder))
                if found is None or not request.old:
                    return self._create(path, request, found, abandoned)
                return self._replace(path, request, found, abandoned)
            except CannotChange as error:
                return error.answer

    def _create(
        self, path: Path, request: _Request, found: CurrentFile | None, abandoned: threading.Event
    ) -> ToolResult:
        if found is not None:
            if found.text.text.strip("\ufeff \t\r\n"):
                return rejected_call("Cannot create new file - file already exists.")
            if self._memory.of(path) is None:
                return failed_result(NOT_READ)
            require_read(self._memory, path, found)
        data = request.new.encode()
        if answer := write_file(self._memory, path, data, found=found, abandoned=abandoned):
            return answer
        old = replace_broken_bytes(found.text.text) if found else ""
        return _done(request, request.old, old, request.new)

    def _replace(self, path: Path, request: _Request, found: CurrentFile, abandoned: threading.Event) -> ToolResult:
        if path.suffix == ".ipynb":
            return rejected_call("File is a Jupyter Notebook. Use the NotebookEdit to edit this file.")
        require_read(self._memory, path, found)
        text = found.text.text
        old = _find_text(text, request.old.replace("\r\n", "\n"))
        if old is None:
            return rejected_call(f"String to replace not found in file.\nString: {request.old}")
        count = text.count(old)
        if count > 1 and not request.everywhere:
            return rejected_call(
                f"Found {count} matches of the string to replace, but replace_all is false. To replace all "
                "occurrences, set replace_all to true. To replace only one occurrence, please provide more context "
                f"to uniquely identify the instance.\nString: {request.old}"
            )
        raw = _replaced(found, old, _with_quotes_of(old, request.old, request.new), everywhere=request.everywhere)
        data = encode_text(found, raw, path)
        if answer := write_file(self._memory, path, data, found=found, abandoned=abandoned):
            return answer
        return _done(request, old, replace_broken_bytes(text), replace_broken_bytes(raw.replace("\r\n", "\n")))


def _replaced(found: CurrentFile, old: str, new: str, *, everywhere: bool) -> str:
    """The whole raw text with the replacement in it; lines that are not replaced keep their own endings."""
    text = found.text.text
    # What is taken away as a whole line takes its line end with it.
    if not new and not everywhere and not old.endswith("\n") and old + "\n" in text:
        old += "\n"
    raw, newline = found.text.raw, found.text.newline
    inserted = new.replace("\r\n", "\n").replace("\n", newline)
    if raw.count("\r\n") in (0, raw.count("\n")):
        return raw.replace(old.replace("\n", newline), inserted, -1 if everywhere else 1)
    # Both endings stand in the file, and the old text does not say which it means.
    pattern = re.compile(r"\r?\n".join(map(re.escape, old.split("\n"))))
    return pattern.sub(lambda _: inserted, raw, count=0 if everywhere else 1)


def _done(request: _Request, old_string: str, old: str, new: str) -> ToolResult:
    detail = {
        "filePath": request.given,
        "oldString": old_string,
        "newString": request.new,
        "originalFile": old,
        "structuredPatch": structured_patch(old, new),
        "userModified": False,
        "replaceAll": request.everywhere,
    }
    said = (
        "has been updated. All occurrences were successfully replaced."
        if request.everywhere
        else "has been updated successfully."
    )
    return ToolResult(f"The file {request.given} {said} {CURRENT}", detail=detail)


def _find_text(text: str, wanted: str) -> str | None:
    """What stands in the text for the wanted words: themselves, or the same with curly quotes."""
    if wanted in text:
        return wanted
    # Each curly quote becomes one straight one, so that places stay places.
    position = text.translate(_STRAIGHT).find(wanted.translate(_STRAIGHT))
    return None if position < 0 else text[position : position + len(wanted)]


def _with_quotes_of(found: str, wanted: str, new: str) -> str:
    """New words with curly quotes where the found ones had them and the wanted ones had not."""
    if found == wanted:
        return new
    if "\u201c" in found or "\u201d" in found:
        new = _curled(new, '"', "\u201c", "\u201d")
    if "\u2018" in found or "\u2019" in found:
        new = _curled(new, "'", "\u2018", "\u2019")
    return new


def _curled(text: str, straight: str, opening: str, closing: str) -> str:
    made: list[str] = []
    for index, letter in enumerate(text):
        if letter != straight:
            made.append(letter)
        elif straight == "'" and index and text[index - 1].isalpha() and text[index + 1 : index + 2].isalpha():
            made.append(closing)  # an apostrophe
        else:
            made.append(opening if not index or text[index - 1] in _OPENERS else closing)
    return "".join(made)

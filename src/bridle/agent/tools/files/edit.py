"""The Edit tool: replaces text in a file."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec

from bridle.agent.tools.contract.in_thread import run_in_thread
from bridle.agent.tools.contract.tool import PathInput, ToolResult, failed_result, rejected_call
from bridle.agent.tools.contract.tool_paths import missing_file_message, path_of_call, reject_invalid_path
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

# Models write straight quotes where a file has curly ones.
_STRAIGHT = str.maketrans({"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"'})
_OPENERS = frozenset(" \t\n\r([{\u2014\u2013")


class EditInput(PathInput, frozen=True):
    """The input of Edit."""

    file_path: str
    old_string: str
    new_string: str
    replace_all: bool = False


class Edit:
    """Replaces text in files."""

    input_type = EditInput

    def __init__(self, folder: Callable[[], Path], memory: FileMemory) -> None:
        self._folder = folder
        self._memory = memory

    async def run(self, request: EditInput, *, call_id: str) -> ToolResult:  # noqa: ARG002  # part of the tool interface
        edit = msgspec.structs.replace(request, new_string=replace_surrogates(request.new_string))
        return await run_in_thread(lambda cancelled: self._edit(edit, cancelled))

    def _edit(self, request: EditInput, cancelled: threading.Event) -> ToolResult:
        if rejection := reject_invalid_path(request.file_path):
            return rejection
        if request.old_string == request.new_string:
            return rejected_call("No changes to make: old_string and new_string are exactly the same.")
        folder = self._folder()
        path = path_of_call(request, folder, request.file_path)
        with self._memory.lock(path):
            try:
                current = read_current(path, "Edit")
                if current is None and request.old_string:
                    return rejected_call(missing_file_message(path, folder))
                if current is None or not request.old_string:
                    return self._create(path, request, current, cancelled)
                return self._replace(path, request, current, cancelled)
            except CannotChange as error:
                return error.result

    def _create(
        self, path: Path, request: EditInput, current: CurrentFile | None, cancelled: threading.Event
    ) -> ToolResult:
        if current is not None:
            if current.text.text.strip("\ufeff \t\r\n"):
                return rejected_call("Cannot create new file - file already exists.")
            if self._memory.find(path) is None:
                return failed_result(NOT_READ)
            require_read(self._memory, path, current)
        data = request.new_string.encode()
        if error := write_file(self._memory, path, data, current=current, cancelled=cancelled):
            return error
        old = replace_broken_bytes(current.text.text) if current else ""
        return _edited(request, request.old_string, old, request.new_string)

    def _replace(self, path: Path, request: EditInput, current: CurrentFile, cancelled: threading.Event) -> ToolResult:
        if path.suffix == ".ipynb":
            return rejected_call("File is a Jupyter Notebook. Use the NotebookEdit to edit this file.")
        require_read(self._memory, path, current)
        text = current.text.text
        old = _find_text(text, request.old_string.replace("\r\n", "\n"))
        if old is None:
            return rejected_call(f"String to replace not found in file.\nString: {request.old_string}")
        count = text.count(old)
        if count > 1 and not request.replace_all:
            return rejected_call(
                f"Found {count} matches of the string to replace, but replace_all is false. To replace all "
                "occurrences, set replace_all to true. To replace only one occurrence, please provide more context "
                f"to uniquely identify the instance.\nString: {request.old_string}"
            )
        raw = _replace_text(
            current, old, _with_quotes_of(old, request.old_string, request.new_string), everywhere=request.replace_all
        )
        data = encode_text(current, raw, path)
        if error := write_file(self._memory, path, data, current=current, cancelled=cancelled):
            return error
        return _edited(request, old, replace_broken_bytes(text), replace_broken_bytes(raw.replace("\r\n", "\n")))


def _replace_text(current: CurrentFile, old: str, new: str, *, everywhere: bool) -> str:
    """Return the raw text with the replacement; other lines keep their line endings."""
    text = current.text.text
    # Deleting a whole line deletes its line break too.
    if not new and not everywhere and not old.endswith("\n") and old + "\n" in text:
        old += "\n"
    raw, newline = current.text.raw, current.text.newline
    inserted = new.replace("\r\n", "\n").replace("\n", newline)
    if raw.count("\r\n") in (0, raw.count("\n")):
        return raw.replace(old.replace("\n", newline), inserted, -1 if everywhere else 1)
    # The file mixes line endings, and the old text does not say which it means.
    pattern = re.compile(r"\r?\n".join(map(re.escape, old.split("\n"))))
    return pattern.sub(lambda _: inserted, raw, count=0 if everywhere else 1)


def _edited(request: EditInput, old_string: str, old: str, new: str) -> ToolResult:
    detail = {
        "filePath": request.file_path,
        "oldString": old_string,
        "newString": request.new_string,
        "originalFile": old,
        "structuredPatch": structured_patch(old, new),
        "userModified": False,
        "replaceAll": request.replace_all,
    }
    message = (
        "has been updated. All occurrences were successfully replaced."
        if request.replace_all
        else "has been updated successfully."
    )
    return ToolResult(f"The file {request.file_path} {message} {CURRENT}", detail=detail)


def _find_text(text: str, wanted: str) -> str | None:
    """Return the part of the text that matches: exactly, or but for curly quotes."""
    if wanted in text:
        return wanted
    # Each curly quote becomes one straight quote, so that positions stay the same.
    position = text.translate(_STRAIGHT).find(wanted.translate(_STRAIGHT))
    return None if position < 0 else text[position : position + len(wanted)]


def _with_quotes_of(match: str, wanted: str, new: str) -> str:
    """Return the new text with curly quotes if the match has them and the wanted text does not."""
    if match == wanted:
        return new
    if "\u201c" in match or "\u201d" in match:
        new = _curl_quotes(new, '"', "\u201c", "\u201d")
    if "\u2018" in match or "\u2019" in match:
        new = _curl_quotes(new, "'", "\u2018", "\u2019")
    return new


def _curl_quotes(text: str, straight: str, opening: str, closing: str) -> str:
    letters: list[str] = []
    for index, letter in enumerate(text):
        if letter != straight:
            letters.append(letter)
        elif straight == "'" and index and text[index - 1].isalpha() and text[index + 1 : index + 2].isalpha():
            letters.append(closing)  # an apostrophe
        else:
            letters.append(opening if not index or text[index - 1] in _OPENERS else closing)
    return "".join(letters)

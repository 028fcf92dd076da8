"""Grep: text in files."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bridle.agent.tools.contract.declarations import GREP
from bridle.agent.tools.contract.shown_output import format_size, persisted_output
from bridle.agent.tools.contract.tool import ToolResult, failed_result, rejected_call
from bridle.agent.tools.contract.tool_paths import reject_invalid_path, resolve_path
from bridle.agent.tools.search.results import IsHidden, Page, format_counts, format_files, format_lines
from bridle.agent.tools.search.ripgrep import SearchFailed, search
from bridle.errors import DiskError
from bridle.ground.disk import make_private_folder, write_atomic
from bridle.ground.ids import safe_name

# What a result shows unless the call says otherwise.
_DEFAULT_LIMIT = 250
# Longer lines are data or made by a program; they are named and not shown.
_LINE_LIMIT_CHARACTERS = 500
# A result that is longer goes to a file, and its beginning to the model.
_SHOWN_CHARACTERS = 20_000


class Grep:
    """Searches the content of files."""

    name = GREP.name
    description = GREP.description
    schema = GREP.schema

    def __init__(
        self,
        folder: Callable[[], Path],
        environment: Mapping[str, str],
        results_folder: Path | None,
        *,
        is_hidden: IsHidden,
    ) -> None:
        self._folder = folder
        self._is_hidden = is_hidden
        self._environment = environment
        self._results_folder = results_folder

    async def run(self, arguments: Mapping[str, Any], *, call_id: str) -> ToolResult:
        """Search the files."""
        given = arguments.get("path")
        if answer := reject_invalid_path((given or "") + arguments["pattern"] + arguments.get("glob", "")):
            return answer
        folder = self._folder()
        place = resolve_path(folder, given) if given else folder
        if not await asyncio.to_thread(os.path.exists, place):
            return rejected_call(f"Path does not exist: {given}. Note: your current working directory is {folder}.")
        try:
            result = await search(_flags(arguments, place), folder=folder, environment=self._environment)
        except SearchFailed as error:
            return failed_result(str(error))
        answer = await asyncio.to_thread(_told, arguments, result.stdout, folder, place, self._is_hidden)
        if result.timed_out or result.is_truncated:
            answer = _with_text(
                answer, f"{answer.content}\n(The search was cut short: narrow it by path, glob or type.)"
            )
        return await asyncio.to_thread(_save_large, answer, _SHOWN_CHARACTERS, self._results_folder, call_id)


def _told(arguments: Mapping[str, Any], output: bytes, folder: Path, place: Path, is_hidden: IsHidden) -> ToolResult:
    page = _page(arguments)
    mode = _mode(arguments)
    if mode == "content":
        return format_lines(output, folder, place, page, is_hidden, numbers=arguments.get("-n", True))
    return (format_counts if mode == "count" else format_files)(output, folder, page, is_hidden)


def _mode(arguments: Mapping[str, Any]) -> str:
    return str(arguments.get("output_mode", "files_with_matches"))


def _page(arguments: Mapping[str, Any]) -> Page:
    limit, offset = arguments.get("head_limit"), arguments.get("offset")
    limit = _DEFAULT_LIMIT if limit is None or limit < 0 else int(limit)
    return Page(limit or None, max(int(offset or 0), 0))


def _flags(arguments: Mapping[str, Any], place: Path) -> list[str]:
    flags = ["--hidden", "--null", "--glob", "!.git", f"--max-columns={_LINE_LIMIT_CHARACTERS}"]
    flags += ["-U", "--multiline-dotall"] if arguments.get("multiline") else []
    flags += ["-i"] if arguments.get("-i") else []
    flags += {"content": _content_flags(arguments), "count": ["-c", "-H"]}.get(_mode(arguments), ["-l"])
    if kind := arguments.get("type"):
        flags += ["--type", kind]
    for glob in _globs(arguments.get("glob", "")):
        flags += ["--glob", glob]
    return [*flags, "-e", arguments["pattern"], "--", str(place)]


def _content_flags(arguments: Mapping[str, Any]) -> list[str]:
    # With path and number on every line, it can be told what was looked for and what stands beside it.
    flags = ["-n", "-H", *(["-o"] if arguments.get("-o") else [])]
    around = arguments.get("context", arguments.get("-C"))
    pairs = [("-C", around)] if around is not None else [("-B", arguments.get("-B")), ("-A", arguments.get("-A"))]
    for flag, count in pairs:
        if count is not None and count > 0:
            flags += [flag, str(int(count))]
    return flags


def _globs(text: str) -> list[str]:
    """Several globs may stand in one text, with blanks or commas between them; commas in braces belong to one."""
    return [glob for word in text.split() for glob in ([word] if "{" in word else word.split(",")) if glob]


def _save_large(answer: ToolResult, limit_characters: int, folder: Path | None, call_id: str) -> ToolResult:
    """The answer as it is, or with its text in a file of the folder named after the call."""
    text = answer.content
    if not isinstance(text, str) or len(text) <= limit_characters:
        return answer
    data = text.encode("utf-8", "replace")
    told = f"Output too large ({format_size(len(data))})."
    if folder is None:
        return _with_text(answer, persisted_output(text, f"{told} Ask for less of it."))
    path = folder / f"{safe_name(call_id)}.txt"
    try:
        make_private_folder(folder)
        write_atomic(path, data)
    except DiskError as error:
        return _with_text(answer, persisted_output(text, f"{told} It could not be saved: {error.message}"))
    return _with_text(answer, persisted_output(text, f"{told} Full output saved to: {path}"))


def _with_text(answer: ToolResult, content: str) -> ToolResult:
    return ToolResult(content, detail=answer.detail, is_error=answer.is_error)

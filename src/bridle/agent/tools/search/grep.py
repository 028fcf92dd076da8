"""The Grep tool: searches file contents."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from bridle.agent.tools.contract.shown_output import format_size, persisted_output
from bridle.agent.tools.contract.tool import PathInput, ToolResult, failed_result, rejected_call
from bridle.agent.tools.contract.tool_paths import describe_os_error, path_of_call, reject_invalid_path
from bridle.agent.tools.search.results import IsHidden, Page, format_counts, format_files, format_lines
from bridle.agent.tools.search.ripgrep import Root, SearchFailed, search
from bridle.errors import DiskError
from bridle.ground.disk import make_private_folder, write_atomic
from bridle.ground.ids import safe_name

# The default of `head_limit`.
_DEFAULT_LIMIT = 250
# Longer lines are data or generated; ripgrep omits them.
_LINE_LIMIT_CHARACTERS = 500
# A longer result is saved to a file, and the model gets its beginning.
_SHOWN_CHARACTERS = 20_000


class GrepInput(PathInput, frozen=True):
    """The input of Grep."""

    pattern: str
    path: str = ""
    glob: str = ""
    output_mode: str = "files_with_matches"
    before: int | float | None = msgspec.field(default=None, name="-B")
    after: int | float | None = msgspec.field(default=None, name="-A")
    around: int | float | None = msgspec.field(default=None, name="-C")
    context: int | float | None = None
    line_numbers: bool = msgspec.field(default=True, name="-n")
    ignore_case: bool = msgspec.field(default=False, name="-i")
    only_matching: bool = msgspec.field(default=False, name="-o")
    type: str = ""
    head_limit: int | float | None = None
    offset: int | float = 0
    multiline: bool = False


class Grep:
    """Searches the content of files."""

    input_type = GrepInput

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

    async def run(self, request: GrepInput, *, call_id: str) -> ToolResult:
        """Search the files."""
        name = request.path
        if rejection := reject_invalid_path(name + request.pattern + request.glob):
            return rejection
        folder = self._folder()
        try:
            root = await asyncio.to_thread(Root, path_of_call(request, folder, name))
        except (FileNotFoundError, NotADirectoryError):
            return rejected_call(f"Path does not exist: {name}. Note: your current working directory is {folder}.")
        except OSError as error:
            return failed_result(describe_os_error(error, Path(name)))
        try:
            if not root.is_folder and not root.is_file:
                return rejected_call(f"Cannot search '{name}': it is a pipe, a socket or a device.")
            return await self._search(request, root, folder, call_id)
        except SearchFailed as error:
            return failed_result(str(error))
        finally:
            root.close()

    async def _search(self, request: GrepInput, root: Root, folder: Path, call_id: str) -> ToolResult:
        result = await search(_flags(request), root, environment=self._environment)
        formatted = await asyncio.to_thread(_format_output, request, result.stdout, folder, root, self._is_hidden)
        if result.timed_out or result.is_truncated:
            formatted = _with_text(
                formatted, f"{formatted.content}\n(The search was stopped early. Narrow it by path, glob or type.)"
            )
        return await asyncio.to_thread(_save_large, formatted, _SHOWN_CHARACTERS, self._results_folder, call_id)


def _format_output(request: GrepInput, output: bytes, folder: Path, root: Root, is_hidden: IsHidden) -> ToolResult:
    page = _page(request)
    if request.output_mode == "content":
        return format_lines(output, folder, root, page, is_hidden, numbers=request.line_numbers)
    return (format_counts if request.output_mode == "count" else format_files)(output, folder, root, page, is_hidden)


def _page(request: GrepInput) -> Page:
    limit = request.head_limit
    lines = _DEFAULT_LIMIT if limit is None or limit < 0 else int(limit)
    return Page(lines or None, max(int(request.offset), 0))


def _flags(request: GrepInput) -> list[str]:
    flags = ["--hidden", "--null", "--glob", "!.git", f"--max-columns={_LINE_LIMIT_CHARACTERS}"]
    flags += ["-U", "--multiline-dotall"] if request.multiline else []
    flags += ["-i"] if request.ignore_case else []
    if request.output_mode == "content":
        flags += _content_flags(request)
    else:
        flags += ["-c", "-H"] if request.output_mode == "count" else ["-l"]
    flags += ["--type", request.type] if request.type else []
    for glob in _globs(request.glob):
        flags += ["--glob", glob]
    return [*flags, "-e", request.pattern]


def _content_flags(request: GrepInput) -> list[str]:
    # Path and number on every line distinguish matches from context lines.
    flags = ["-n", "-H", *(["-o"] if request.only_matching else [])]
    around = request.around if request.context is None else request.context
    pairs = [("-C", around)] if around is not None else [("-B", request.before), ("-A", request.after)]
    for flag, count in pairs:
        if count is not None and count > 0:
            flags += [flag, str(int(count))]
    return flags


def _globs(text: str) -> list[str]:
    """Split a text into globs at whitespace and commas, except commas in braces."""
    return [glob for word in text.split() for glob in ([word] if "{" in word else word.split(",")) if glob]


def _save_large(result: ToolResult, limit_characters: int, folder: Path | None, call_id: str) -> ToolResult:
    """Return the result unchanged, or with its text saved to a file named after the call."""
    text = result.content
    if not isinstance(text, str) or len(text) <= limit_characters:
        return result
    data = text.encode("utf-8", "replace")
    summary = f"Output too large ({format_size(len(data))})."
    if folder is None:
        return _with_text(result, persisted_output(text, f"{summary} Narrow the search."))
    path = folder / f"{safe_name(call_id)}.txt"
    try:
        make_private_folder(folder)
        write_atomic(path, data)
    except DiskError as error:
        return _with_text(result, persisted_output(text, f"{summary} It could not be saved: {error.message}"))
    return _with_text(result, persisted_output(text, f"{summary} Full output saved to: {path}"))


def _with_text(result: ToolResult, content: str) -> ToolResult:
    return ToolResult(content, detail=result.detail, is_error=result.is_error)

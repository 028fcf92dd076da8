"""The Glob tool: finds files by name."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from bridle.agent.permissions.rules.rule_paths import split_pattern
from bridle.agent.tools.contract.tool import PathInput, ToolResult, failed_result, rejected_call
from bridle.agent.tools.contract.tool_paths import describe_os_error, path_of_call, reject_invalid_path
from bridle.agent.tools.search.ripgrep import Root, SearchFailed, search

# As many paths as a model can use at once.
_SHOWN_FILES = 100


class GlobInput(PathInput, frozen=True):
    """The input of Glob."""

    pattern: str
    path: str = ""


class Glob:
    """Finds files by name."""

    input_type = GlobInput

    def __init__(
        self, folder: Callable[[], Path], environment: Mapping[str, str], *, is_hidden: Callable[[str], bool]
    ) -> None:
        self._folder = folder
        self._is_hidden = is_hidden
        self._environment = environment

    async def run(self, request: GlobInput, *, call_id: str) -> ToolResult:  # noqa: ARG002  # part of the tool interface
        """Find the files."""
        pattern, name = request.pattern, request.path
        if rejection := reject_invalid_path(pattern + name):
            return rejection
        folder = self._folder()
        name, pattern = split_pattern(pattern, name)
        try:
            root = await asyncio.to_thread(Root, path_of_call(request, folder, name))
        except (FileNotFoundError, NotADirectoryError):
            return rejected_call(f"Directory does not exist: {name}. Note: your current working directory is {folder}.")
        except OSError as error:
            return failed_result(describe_os_error(error, Path(name)))
        try:
            if not root.is_folder:
                return rejected_call(f"Path is not a directory: {name}")
            return await self._find(pattern, root, folder)
        finally:
            root.close()

    async def _find(self, pattern: str, root: Root, folder: Path) -> ToolResult:
        started = time.monotonic()
        arguments = ["--files", "--null", "--hidden", "--no-ignore"]
        arguments += ["--glob", pattern] if pattern else []
        if ".git" not in (*pattern.split("/"), *root.path.parts):
            arguments += ["--glob", "!.git"]
        try:
            result = await search(arguments, root, environment=self._environment)
        except SearchFailed as error:
            return failed_result(str(error))
        names = result.stdout.split(b"\0")[:-1]
        paths = await asyncio.to_thread(_oldest_first, root, names, self._is_hidden)
        is_whole = not result.timed_out and not result.is_truncated
        return _format_paths(paths, folder, is_whole=is_whole, milliseconds=int((time.monotonic() - started) * 1000))


def _oldest_first(root: Root, names: list[bytes], is_hidden: Callable[[str], bool]) -> list[str]:
    """Return the absolute paths by modification time, without vanished and hidden files."""
    dated: list[tuple[int, str]] = []
    for name in names:
        path = root.absolute(name)
        if is_hidden(path):
            continue
        try:
            dated.append((os.lstat(path).st_mtime_ns, path))
        except OSError:
            continue
    return [path for _, path in sorted(dated)]


def _format_paths(paths: list[str], folder: Path, *, is_whole: bool, milliseconds: int) -> ToolResult:
    names = [relative_path(path, folder) for path in paths[:_SHOWN_FILES]]
    detail = {
        "filenames": names,
        "durationMs": milliseconds,
        "numFiles": len(names),
        "truncated": len(paths) > len(names),
        "totalMatches": len(paths),
        "countIsComplete": is_whole,
    }
    lines = list(names) or ["No files found"]
    if len(paths) > len(names):
        lines.append(
            f"(Showing {len(names)} of {len(paths)}{'' if is_whole else ' or more'} matching files; "
            f"{len(paths) - len(names)} more are not listed. Narrow the pattern or path to see the rest.)"
        )
    elif not is_whole:
        lines.append("(The search was stopped early, and there may be more. Narrow the pattern or the path.)")
    return ToolResult("\n".join(lines), detail=detail)


def relative_path(path: str, folder: Path) -> str:
    """Return the path relative to the folder if it is inside it; undecodable bytes are replaced."""
    start = os.path.join(folder, "")
    short = path[len(start) :] if path.startswith(start) else path
    return os.fsencode(short).decode("utf-8", "replace")

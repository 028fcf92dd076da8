"""Glob: files by their names."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bridle.agent.tools.contract.declarations import GLOB
from bridle.agent.tools.contract.tool import ToolResult, failed_result, rejected_call
from bridle.agent.tools.contract.tool_paths import reject_invalid_path, resolve_path
from bridle.agent.tools.search.ripgrep import SearchFailed, search

# What a model can use at once.
_SHOWN_FILES = 100
_WILD = frozenset("*?[{")


class Glob:
    """Finds files by name."""

    name = GLOB.name
    description = GLOB.description
    schema = GLOB.schema

    def __init__(
        self, folder: Callable[[], Path], environment: Mapping[str, str], *, is_hidden: Callable[[str], bool]
    ) -> None:
        self._folder = folder
        self._is_hidden = is_hidden
        self._environment = environment

    async def run(self, arguments: Mapping[str, Any], *, call_id: str) -> ToolResult:  # noqa: ARG002 - as every tool
        """Find the files."""
        pattern, given = arguments["pattern"], arguments.get("path")
        if answer := reject_invalid_path(pattern + (given or "")):
            return answer
        folder = self._folder()
        place = resolve_path(folder, given) if given else folder
        if not await asyncio.to_thread(os.path.exists, place):
            return rejected_call(
                f"Directory does not exist: {given}. Note: your current working directory is {folder}."
            )
        if not await asyncio.to_thread(os.path.isdir, place):
            return rejected_call(f"Path is not a directory: {given}")
        if os.path.isabs(pattern):
            place, pattern = _split(pattern)
        return await self._find(pattern, place, folder)

    async def _find(self, pattern: str, place: Path, folder: Path) -> ToolResult:
        started = time.monotonic()
        arguments = ["--files", "--null", "--hidden", "--no-ignore"]
        arguments += ["--glob", pattern] if pattern else []
        if ".git" not in (*pattern.split("/"), *place.parts):
            arguments += ["--glob", "!.git"]
        try:
            result = await search([*arguments, "--", "."], folder=place, environment=self._environment)
        except SearchFailed as error:
            return failed_result(str(error))
        names = result.stdout.split(b"\0")[:-1]
        found = await asyncio.to_thread(_oldest_first, place, names, self._is_hidden)
        is_whole = not result.timed_out and not result.is_truncated
        return _told(found, folder, is_whole=is_whole, milliseconds=int((time.monotonic() - started) * 1000))


def _split(pattern: str) -> tuple[Path, str]:
    """An absolute pattern as the folder that it surely is in, and the rest."""
    parts = pattern.split("/")
    wild = next((index for index, part in enumerate(parts) if _WILD & set(part)), len(parts) - 1)
    return Path("/".join(parts[:wild]) or "/"), "/".join(parts[wild:])


def _oldest_first(place: Path, names: list[bytes], is_hidden: Callable[[str], bool]) -> list[str]:
    """Absolute paths by time of change; a file that has vanished meanwhile, or must not be read, is left out."""
    dated: list[tuple[int, str]] = []
    for name in names:
        path = os.path.normpath(os.path.join(place, os.fsdecode(name)))
        if is_hidden(path):
            continue
        try:
            dated.append((os.lstat(path).st_mtime_ns, path))
        except OSError:
            continue
    return [path for _, path in sorted(dated)]


def _told(found: list[str], folder: Path, *, is_whole: bool, milliseconds: int) -> ToolResult:
    names = [relative_path(path, folder) for path in found[:_SHOWN_FILES]]
    detail = {
        "filenames": names,
        "durationMs": milliseconds,
        "numFiles": len(names),
        "truncated": len(found) > len(names),
        "totalMatches": len(found),
        "countIsComplete": is_whole,
    }
    lines = list(names) or ["No files found"]
    if len(found) > len(names):
        lines.append(
            f"(Showing {len(names)} of {len(found)}{'' if is_whole else ' or more'} matching files; "
            f"{len(found) - len(names)} more are not listed. Narrow the pattern or path to see the rest.)"
        )
    elif not is_whole:
        lines.append("(The search was cut short: there may be more. Narrow the pattern or the path.)")
    return ToolResult("\n".join(lines), detail=detail)


def relative_path(path: str, folder: Path) -> str:
    """The path from the folder on, if it is below it; what cannot be encoded is shown as such."""
    start = os.path.join(folder, "")
    short = path[len(start) :] if path.startswith(start) else path
    return os.fsencode(short).decode("utf-8", "replace")

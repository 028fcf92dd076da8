"""The tools that work on files and pages, joined to one memory of what the model has seen."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from bridle.agent.tools.contract import declarations
from bridle.agent.tools.contract.tool import Tool, ToolResult
from bridle.agent.tools.files.known_files import FileMemory


def file_tools(
    folder: Callable[[], Path],
    memory: FileMemory,
    *,
    environment: Mapping[str, str] | None = None,
    results_folder: Path | None = None,
    digest: Callable[[str, str], Awaitable[str]] | None = None,
    is_hidden: Callable[[str], bool] = lambda _path: False,
) -> list[Tool]:
    """Read, Write, Edit, NotebookEdit, Glob, Grep, WebFetch; each is loaded when it is first called.

    `folder` tells where relative paths start when a call is made: where the shell is. Results that are too long go to
    files in `results_folder`. `digest` answers WebFetch's question about a page; without it the page's text is the
    answer. Of a file that `is_hidden` searches tell nothing.
    """
    surroundings = environment or {}

    def read() -> Tool:
        from bridle.agent.tools.files.read import Read

        return Read(folder, memory)

    def write() -> Tool:
        from bridle.agent.tools.files.write import Write

        return Write(folder, memory)

    def edit() -> Tool:
        from bridle.agent.tools.files.edit import Edit

        return Edit(folder, memory)

    def notebook_edit() -> Tool:
        from bridle.agent.tools.files.notebook_edit import NotebookEdit

        return NotebookEdit(folder, memory)

    def glob() -> Tool:
        from bridle.agent.tools.search.glob import Glob

        return Glob(folder, surroundings, is_hidden=is_hidden)

    def grep() -> Tool:
        from bridle.agent.tools.search.grep import Grep

        return Grep(folder, surroundings, results_folder, is_hidden=is_hidden)

    def web_fetch() -> Tool:
        from bridle.agent.tools.web.fetch_tool import WebFetch

        return WebFetch(surroundings, digest=digest, results_folder=results_folder)

    return [
        _LazyTool(declarations.READ, read),
        _LazyTool(declarations.WRITE, write),
        _LazyTool(declarations.EDIT, edit),
        _LazyTool(declarations.NOTEBOOK_EDIT, notebook_edit),
        _LazyTool(declarations.GLOB, glob),
        _LazyTool(declarations.GREP, grep),
        _LazyTool(declarations.WEB_FETCH, web_fetch),
    ]


class _LazyTool:
    """Introduces a tool, and makes it at the first call."""

    def __init__(self, declaration: declarations.Declaration, make: Callable[[], Tool]) -> None:
        self.name, self.description, self.schema = declaration
        self._make = make
        self._tool: Tool | None = None

    async def run(self, arguments: Mapping[str, Any], *, call_id: str) -> ToolResult:
        """Hand the call to the tool."""
        if self._tool is None:
            self._tool = self._make()
        return await self._tool.run(arguments, call_id=call_id)

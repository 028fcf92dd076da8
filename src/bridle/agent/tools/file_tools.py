"""Makes the file, search and web tools, which share one record of the files that the model has read."""

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
    """Return Read, Write, Edit, NotebookEdit, Glob, Grep and WebFetch; each is imported at its first call.

    `folder` returns the directory that relative paths start at: the shell's current one. Results that are too long are
    saved in `results_folder`. `digest` answers WebFetch's question about a page; without it WebFetch returns the text.
    Searches skip files for which `is_hidden` is true.
    """
    variables = environment or {}

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

        return Glob(folder, variables, is_hidden=is_hidden)

    def grep() -> Tool:
        from bridle.agent.tools.search.grep import Grep

        return Grep(folder, variables, results_folder, is_hidden=is_hidden)

    def web_fetch() -> Tool:
        from bridle.agent.tools.web.fetch_tool import WebFetch

        return WebFetch(variables, digest=digest, results_folder=results_folder)

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
    """A declared tool that is imported and made at its first call."""

    def __init__(self, declaration: declarations.Declaration, make: Callable[[], Tool]) -> None:
        self.name, self.description, self.schema = declaration
        self._make = make
        self._tool: Tool | None = None

    @property
    def input_type(self) -> type:
        """The record of the tool's input."""
        return self._loaded().input_type

    async def run(self, request: Any, *, call_id: str) -> ToolResult:
        """Run the tool."""
        return await self._loaded().run(request, call_id=call_id)

    def _loaded(self) -> Tool:
        if self._tool is None:
            self._tool = self._make()
        return self._tool

"""The file, search and web tools: a table of tools that are imported at their first call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from bridle.agent.tools.contract import declarations
from bridle.agent.tools.contract.tool import AskServerTool, Tool, ToolResult, ToolRunner
from bridle.agent.tools.files.known_files import FileMemory


class FileToolSetup(msgspec.Struct, frozen=True):
    """What the tools of one session share."""

    folder: Callable[[], Path]
    """Returns the directory that relative paths start at: the shell's current one."""
    memory: FileMemory = msgspec.field(default_factory=FileMemory)
    """The files that the model has read."""
    environment: Mapping[str, str] = msgspec.field(default_factory=dict)
    results_folder: Path | None = None
    """Where results that are too long are saved."""
    ask_small_model: Callable[[str], Awaitable[str]] | None = None
    """Answers WebFetch's question about a page; without it WebFetch returns the text."""
    search_web: AskServerTool | None = None
    """Asks the endpoint for a web search; without it there is no WebSearch."""
    is_hidden: Callable[[str], bool] = lambda _path: False
    """Whether searches skip a file."""


def file_tools(setup: FileToolSetup) -> list[Tool]:
    """Return Read, Write, Edit, NotebookEdit, Glob, Grep, WebFetch and WebSearch; imported at their first call."""
    tools: list[Tool] = [_LazyTool(declaration, make, setup) for declaration, make in _TABLE]
    if (search := setup.search_web) is not None:
        tools.append(_LazyTool(declarations.WEB_SEARCH, lambda _: _web_search(search), setup))
    return tools


class _LazyTool:
    """A declared tool that is imported and made at its first call."""

    def __init__(
        self, declaration: declarations.Declaration, make: Callable[[FileToolSetup], ToolRunner], setup: FileToolSetup
    ) -> None:
        self.name, self.description, self.schema = declaration
        self._make, self._setup = make, setup
        self._tool: ToolRunner | None = None

    @property
    def input_type(self) -> type:
        """The record of the tool's input."""
        return self._loaded().input_type

    async def run(self, request: Any, *, call_id: str) -> ToolResult:
        return await self._loaded().run(request, call_id=call_id)

    def _loaded(self) -> ToolRunner:
        if self._tool is None:
            self._tool = self._make(self._setup)
        return self._tool


def _read(setup: FileToolSetup) -> ToolRunner:
    from bridle.agent.tools.files.read import Read

    return Read(setup.folder, setup.memory)


def _write(setup: FileToolSetup) -> ToolRunner:
    from bridle.agent.tools.files.write import Write

    return Write(setup.folder, setup.memory)


def _edit(setup: FileToolSetup) -> ToolRunner:
    from bridle.agent.tools.files.edit import Edit

    return Edit(setup.folder, setup.memory)


def _notebook_edit(setup: FileToolSetup) -> ToolRunner:
    from bridle.agent.tools.files.notebook_edit import NotebookEdit

    return NotebookEdit(setup.folder, setup.memory)


def _glob(setup: FileToolSetup) -> ToolRunner:
    from bridle.agent.tools.search.glob import Glob

    return Glob(setup.folder, setup.environment, is_hidden=setup.is_hidden)


def _grep(setup: FileToolSetup) -> ToolRunner:
    from bridle.agent.tools.search.grep import Grep

    return Grep(setup.folder, setup.environment, setup.results_folder, is_hidden=setup.is_hidden)


def _web_fetch(setup: FileToolSetup) -> ToolRunner:
    from bridle.agent.tools.web.fetch_tool import WebFetch

    return WebFetch(setup.environment, ask_small_model=setup.ask_small_model, results_folder=setup.results_folder)


def _web_search(search: AskServerTool) -> ToolRunner:
    from bridle.agent.tools.web.search_tool import WebSearch

    return WebSearch(search)


_TABLE: tuple[tuple[declarations.Declaration, Callable[[FileToolSetup], ToolRunner]], ...] = (
    (declarations.READ, _read),
    (declarations.WRITE, _write),
    (declarations.EDIT, _edit),
    (declarations.NOTEBOOK_EDIT, _notebook_edit),
    (declarations.GLOB, _glob),
    (declarations.GREP, _grep),
    (declarations.WEB_FETCH, _web_fetch),
)

"""The tools that work on files and pages, joined to one memory of what the model has seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from bridle.agent.tools import declared
from bridle.agent.tools.file_memory import FileMemory
from bridle.agent.tools.late import Late
from bridle.agent.tools.tool import Tool
from bridle.agent.tools.web_digest import Digest


def file_tools(
    folder: Callable[[], Path],
    memory: FileMemory,
    *,
    environment: Mapping[str, str] | None = None,
    results_folder: Path | None = None,
    digest: Digest | None = None,
    is_hidden: Callable[[str], bool] = lambda _path: False,
) -> list[Tool]:
    """Read, Write, Edit, NotebookEdit, Glob, Grep, WebFetch; each is loaded when it is first called.

    `folder` tells where relative paths start when a call is made: where the shell is. Results that are too long go to
    files in `results_folder`. `digest` answers WebFetch's question about a page; without it the page's text is the
    answer. Of a file that `is_hidden` searches tell nothing.
    """
    surroundings = environment or {}

    def read() -> Tool:
        from bridle.agent.tools.read import Read

        return Read(folder, memory)

    def write() -> Tool:
        from bridle.agent.tools.write import Write

        return Write(folder, memory)

    def edit() -> Tool:
        from bridle.agent.tools.edit import Edit

        return Edit(folder, memory)

    def notebook_edit() -> Tool:
        from bridle.agent.tools.notebook_edit import NotebookEdit

        return NotebookEdit(folder, memory)

    def glob() -> Tool:
        from bridle.agent.tools.glob import Glob

        return Glob(folder, surroundings, is_hidden=is_hidden)

    def grep() -> Tool:
        from bridle.agent.tools.grep import Grep

        return Grep(folder, surroundings, results_folder, is_hidden=is_hidden)

    def web_fetch() -> Tool:
        from bridle.agent.tools.web_fetch import WebFetch

        return WebFetch(surroundings, digest=digest, results_folder=results_folder)

    return [
        Late(declared.READ, read),
        Late(declared.WRITE, write),
        Late(declared.EDIT, edit),
        Late(declared.NOTEBOOK_EDIT, notebook_edit),
        Late(declared.GLOB, glob),
        Late(declared.GREP, grep),
        Late(declared.WEB_FETCH, web_fetch),
    ]

"""The tools that work on files, joined to one memory of what the model has seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from bridle.agent.tools.edit import Edit
from bridle.agent.tools.file_memory import FileMemory
from bridle.agent.tools.glob import Glob
from bridle.agent.tools.grep import Grep
from bridle.agent.tools.notebook_edit import NotebookEdit
from bridle.agent.tools.read import Read
from bridle.agent.tools.tool import Tool
from bridle.agent.tools.write import Write


def file_tools(
    folder: Callable[[], Path],
    memory: FileMemory,
    *,
    environment: Mapping[str, str] | None = None,
    results_folder: Path | None = None,
) -> list[Tool]:
    """Read, Write, Edit, NotebookEdit, Glob, Grep.

    `folder` tells where relative paths start when a call is made: where the shell is. Results that are too long go to
    files in `results_folder`.
    """
    surroundings = environment or {}
    return [
        Read(folder, memory),
        Write(folder, memory),
        Edit(folder, memory),
        NotebookEdit(folder, memory),
        Glob(folder, surroundings),
        Grep(folder, surroundings, results_folder),
    ]

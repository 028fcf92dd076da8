"""The tools that work on files, joined to one memory of what the model has seen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from bridle.agent.tools.edit import Edit
from bridle.agent.tools.file_memory import FileMemory
from bridle.agent.tools.read import Read
from bridle.agent.tools.tool import Tool
from bridle.agent.tools.write import Write


def file_tools(folder: Callable[[], Path], memory: FileMemory) -> list[Tool]:
    """Read, Write, Edit; folder tells where relative paths start when a call is made."""
    return [Read(folder, memory), Write(folder, memory), Edit(folder, memory)]

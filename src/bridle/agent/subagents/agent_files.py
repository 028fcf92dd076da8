"""Finds the definitions of sub-agents in files: those of the user, of the project and of plugins."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bridle.agent.skills.frontmatter import parse_document
from bridle.agent.subagents.definitions import AgentDefinition, Source, document_definition
from bridle.errors import DiskError
from bridle.ground import disk

if TYPE_CHECKING:
    from bridle.agent.skills.plugins import Plugin

# More documents, or deeper folders, mean that a directory was linked by mistake.
FILE_LIMIT = 1000
DEPTH_LIMIT = 8
# A larger system prompt would fill the context window.
TEXT_LIMIT_BYTES = 512 * 1024


def agents_in(folder: Path, source: Source, *, prefix: str = "") -> tuple[AgentDefinition, ...]:
    """Return the agents that a document or those of a folder define, sorted by path; files without one are skipped."""
    found = (_read(path, source, prefix) for path in _documents(folder))
    return tuple(definition for definition in found if definition is not None)


def plugin_agents(plugins: Sequence[Plugin]) -> tuple[AgentDefinition, ...]:
    """Return the agents of plugins, each named after its plugin and itself."""
    return tuple(
        agent
        for plugin in plugins
        for path in plugin.agents
        for agent in agents_in(path, "plugin", prefix=f"{plugin.name}:")
    )


def _documents(folder: Path) -> Iterator[Path]:
    if folder.is_file():
        yield folder
    seen = 0
    base = len(folder.parts)
    for top, folders, names in os.walk(folder):
        folders[:] = sorted(folders) if len(Path(top).parts) - base < DEPTH_LIMIT else []
        for name in sorted(names):
            if name.endswith(".md"):
                seen += 1
                if seen > FILE_LIMIT:
                    return
                yield Path(top) / name


def _read(path: Path, source: Source, prefix: str) -> AgentDefinition | None:
    try:
        text = disk.read_bounded(path, TEXT_LIMIT_BYTES).decode("utf-8", "replace")
    except DiskError:
        return None
    return document_definition(parse_document(text), source, prefix=prefix)

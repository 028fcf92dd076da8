"""What a sub-agent has used and done so far, and the words that describe its current call."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Any

from bridle.agent.model.api.cost import count_of
from bridle.agent.model.api.question import Block, Usage
from bridle.agent.stdio.task_events import TaskUsage

# How much of a command, a pattern or an address is shown.
SHOWN_CHARACTERS = 50
_INPUT_COUNTS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_SEARCHES = ("Glob", "Grep")
_EDITS = ("Edit", "NotebookEdit", "Write")


class AgentProgress:
    """The counts of one sub-agent: tokens, calls, duration, and what its calls were."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._input = self._output = 0
        self.tool_uses = 0
        self._stats = dict.fromkeys(
            ("readCount", "searchCount", "bashCount", "editFileCount", "linesAdded", "linesRemoved", "otherToolCount"),
            0,
        )

    @property
    def milliseconds(self) -> int:
        """How long the agent has run."""
        return round((time.monotonic() - self._started) * 1000)

    @property
    def usage(self) -> TaskUsage:
        """The figures of `task_progress`: the input of the last request, and the output of all printed blocks."""
        return TaskUsage(self._input + self._output, self.tool_uses, self.milliseconds)

    @property
    def stats(self) -> dict[str, int] | None:
        """The number of calls by kind, or None before the first."""
        return self._stats if any(self._stats.values()) else None

    def count_block(self, block: Block, usage: Usage) -> None:
        """Count a block of an answer; `usage` is that of its event."""
        self._input = sum(count_of(usage, name) for name in _INPUT_COUNTS)
        self._output += count_of(usage, "output_tokens")
        if block.get("type") == "tool_use":
            self.tool_uses += 1
            sent = block.get("input")
            self._count_call(str(block.get("name")), sent if isinstance(sent, dict) else {})

    def _count_call(self, tool: str, sent: Mapping[str, Any]) -> None:
        stats = self._stats
        if tool == "Read":
            stats["readCount"] += 1
        elif tool in _SEARCHES:
            stats["searchCount"] += 1
        elif tool == "Bash":
            stats["bashCount"] += 1
        elif tool in _EDITS:
            stats["editFileCount"] += 1
            stats["linesAdded"] += _lines(sent.get({"Edit": "new_string", "Write": "content"}.get(tool, "new_source")))
            stats["linesRemoved"] += _lines(sent.get("old_string"))
        elif tool not in ("Agent", "Task"):
            stats["otherToolCount"] += 1


def describe_call(tool: str, sent: Mapping[str, Any], cwd: str) -> str | None:
    """Return what a call does, in a few words; None for a tool that has none."""
    match tool:
        case "Bash":
            return f"Running {_short(sent.get('description') or sent.get('command'))}"
        case "Read":
            return f"Reading {_path(sent.get('file_path'), cwd)}"
        case "Write":
            return f"Writing {_path(sent.get('file_path'), cwd)}"
        case "Edit":
            return f"Editing {_path(sent.get('file_path'), cwd)}"
        case "NotebookEdit":
            return f"Editing notebook {_path(sent.get('notebook_path'), cwd)}"
        case "Glob":
            return f"Finding {_short(sent.get('pattern'))}"
        case "Grep":
            return f"Searching for {_short(sent.get('pattern'))}"
        case "WebSearch":
            return f"Searching for {_short(sent.get('query'))}"
        case "WebFetch":
            return f"Fetching {_short(sent.get('url'))}"
        case "Agent" | "Task":
            return str(sent.get("description") or "") or None
    return None


def _path(value: object, cwd: str) -> str:
    path = str(value or "")
    inside = os.path.relpath(path, cwd) if os.path.isabs(path) else path
    return path if inside.startswith("..") else inside


def _short(value: object) -> str:
    text = str(value or "")
    return text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 1] + "…"


def _lines(value: object) -> int:
    return value.count("\n") + 1 if isinstance(value, str) and value else 0

"""Which tools change files, and the change that each of their calls makes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bridle.wire.transcript import diff
from bridle.wire.transcript.clip import Clip
from bridle.wire.transcript.items import FileChange

FILE_TOOLS = ("Edit", "Write", "MultiEdit", "NotebookEdit")


def file_change(name: str, arguments: dict[str, Any], details: Any, clip: Clip) -> FileChange:
    """What a call changes: as its result reports it, or else as its input asks for it."""
    facts = details if isinstance(details, dict) else {}
    path = _text(arguments, "file_path") or _text(arguments, "notebook_path") or _text(facts, "filePath")
    patch = facts.get("structuredPatch")
    action = _action(name, arguments, facts)
    if isinstance(patch, list) and patch:
        return diff.from_patch(path, action, patch, clip)
    return diff.from_texts(path, action, _pairs(name, arguments, facts), clip)


def _action(name: str, arguments: dict[str, Any], facts: dict[str, Any]) -> str:
    if facts.get("type") == "create" or (name == "Edit" and arguments.get("old_string") == ""):
        return "create"
    return "write" if name == "Write" else "edit"


def _pairs(name: str, arguments: dict[str, Any], facts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Old and new text of each place that the call changes."""
    if name == "Write":
        yield _text(facts, "originalFile"), _text(arguments, "content")
    elif name == "NotebookEdit":
        removed = arguments.get("edit_mode") == "delete"
        added = arguments.get("edit_mode") == "insert"
        yield "" if added else _text(facts, "old_source"), "" if removed else _text(arguments, "new_source")
    elif name == "MultiEdit":
        edits = arguments.get("edits")
        for edit in edits if isinstance(edits, list) else ():
            if isinstance(edit, dict):
                yield _text(edit, "old_string"), _text(edit, "new_string")
    else:
        yield _text(arguments, "old_string"), _text(arguments, "new_string")


def _text(values: dict[str, Any], name: str) -> str:
    value = values.get(name)
    return value if isinstance(value, str) else ""

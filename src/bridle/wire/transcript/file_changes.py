"""The tools that change files, and the change that each of their calls makes."""

from __future__ import annotations

from typing import Any

from bridle.wire.events.decode_tolerant import convert
from bridle.wire.events.loose_json import JsonObject
from bridle.wire.transcript import diff
from bridle.wire.transcript.clip import Clip
from bridle.wire.transcript.items import FileChange
from bridle.wire.transcript.tool_details import FileArguments, ToolDetails

FILE_TOOLS = ("Edit", "Write", "MultiEdit", "NotebookEdit")


def file_change(name: str, arguments: JsonObject, details: ToolDetails, clip: Clip) -> FileChange | None:
    """Return what a call changes: as its result reports it, else as its input requests it.

    Return None if the result reports no change and the input does not have the texts of one.
    """
    call = convert(arguments, FileArguments)
    path = call.file_path or call.notebook_path or details.file_path
    action = "write" if name == "Write" else "edit"
    if details.type == "create" or (name == "Edit" and call.old_string == ""):
        action = "create"
    if details.structured_patch:
        return diff.from_patch(path, action, details.structured_patch, clip)
    replacements = _replacements(name, arguments, details)
    return None if replacements is None else diff.from_texts(path, action, replacements, clip)


def _replacements(name: str, arguments: JsonObject, details: ToolDetails) -> list[tuple[str, str]] | None:
    """Return the old and new text of each place that the call changes."""
    match name, arguments:
        case "Write", {"content": str(new)}:
            return [(details.original_file, new)]
        case "NotebookEdit", {"edit_mode": "delete"}:
            return [(details.old_source, "")]
        case "NotebookEdit", {"new_source": str(new)}:
            return [("" if arguments.get("edit_mode") == "insert" else details.old_source, new)]
        case "MultiEdit", {"edits": [*edits]} if edits and all(_is_edit(edit) for edit in edits):
            return [(edit["old_string"], edit["new_string"]) for edit in edits]
        case "Edit", _ if _is_edit(arguments):
            return [(arguments["old_string"], arguments["new_string"])]
    return None


def _is_edit(value: Any) -> bool:
    match value:
        case {"old_string": str(), "new_string": str()}:
            return True
    return False

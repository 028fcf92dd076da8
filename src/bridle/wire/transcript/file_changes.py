"""The tools that change files, and the change that each of their calls makes."""

from __future__ import annotations

from collections.abc import Iterator

from bridle.wire.events.decode_tolerant import convert
from bridle.wire.events.loose_json import JsonObject
from bridle.wire.transcript import diff
from bridle.wire.transcript.clip import Clip
from bridle.wire.transcript.items import FileChange
from bridle.wire.transcript.tool_details import FileArguments, ToolDetails

FILE_TOOLS = ("Edit", "Write", "MultiEdit", "NotebookEdit")


def file_change(name: str, arguments: JsonObject, details: ToolDetails, clip: Clip) -> FileChange:
    """Return what a call changes: as its result reports it, else as its input requests it."""
    call = convert(arguments, FileArguments)
    path = call.file_path or call.notebook_path or details.file_path
    action = "write" if name == "Write" else "edit"
    if details.type == "create" or (name == "Edit" and call.old_string == ""):
        action = "create"
    if details.structured_patch:
        return diff.from_patch(path, action, details.structured_patch, clip)
    return diff.from_texts(path, action, _replacements(name, call, details), clip)


def _replacements(name: str, call: FileArguments, details: ToolDetails) -> Iterator[tuple[str, str]]:
    """Yield the old and new text of each place that the call changes."""
    if name == "Write":
        yield details.original_file, call.content
    elif name == "NotebookEdit":
        old = "" if call.edit_mode == "insert" else details.old_source
        yield old, "" if call.edit_mode == "delete" else call.new_source
    elif name == "MultiEdit":
        yield from ((edit.old_string, edit.new_string) for edit in call.edits)
    else:
        yield call.old_string or "", call.new_string

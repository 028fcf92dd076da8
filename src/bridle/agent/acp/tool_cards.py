"""How an editor shows a tool call: title, kind, files, and the change that it makes. Pure."""

from __future__ import annotations

import os
from typing import Any

from bridle.wire.events.loose_json import JsonObject

_KINDS = {
    "Read": "read",
    "Write": "edit",
    "Edit": "edit",
    "NotebookEdit": "edit",
    "Glob": "search",
    "Grep": "search",
    "Bash": "execute",
    "TaskOutput": "execute",
    "TaskStop": "execute",
    "WebFetch": "fetch",
    "WebSearch": "fetch",
    "Agent": "think",
    "Task": "think",
    "Skill": "think",
    "EnterPlanMode": "switch_mode",
    "ExitPlanMode": "switch_mode",
}
# The argument that a title shows.
_SUBJECTS = {
    "Read": "file_path",
    "Write": "file_path",
    "Edit": "file_path",
    "NotebookEdit": "notebook_path",
    "Glob": "pattern",
    "Grep": "pattern",
    "WebFetch": "url",
    "WebSearch": "query",
    "Agent": "description",
    "Task": "description",
    "Skill": "skill",
}
_PATHS = ("file_path", "notebook_path")
# A title is one line in a list.
_TITLE_CHARACTERS = 200


def call_card(call_id: str, tool: str, arguments: JsonObject, cwd: str) -> JsonObject:
    """Return the fields of a tool call that is about to run."""
    card: JsonObject = {
        "toolCallId": call_id,
        "title": _title(tool, arguments),
        "kind": _KINDS.get(tool, "other"),
        "status": "pending",
        "rawInput": arguments,
        "content": _content(tool, arguments, cwd),
        "locations": _locations(arguments, cwd),
    }
    return card


def result_card(call_id: str, result: JsonObject, detail: Any, cwd: str) -> JsonObject:
    """Return the fields that change when a call has ended; `detail` is the tool's own form of the result."""
    failed = bool(result.get("is_error"))
    card: JsonObject = {"toolCallId": call_id, "status": "failed" if failed else "completed"}
    change = None if failed else _change(detail, cwd)
    card["content"] = [change] if change is not None else _shown(result.get("content"))
    if detail is not None:
        card["rawOutput"] = detail
    return card


def _title(tool: str, arguments: JsonObject) -> str:
    if tool == "Bash":
        text = f"`{arguments.get('command', '')}`"
    elif isinstance(subject := arguments.get(_SUBJECTS.get(tool, "")), str) and subject:
        text = f"{tool} {subject}"
    else:
        text = tool
    text = " ".join(text.split())
    return text if len(text) <= _TITLE_CHARACTERS else text[: _TITLE_CHARACTERS - 1] + "…"


def _content(tool: str, arguments: JsonObject, cwd: str) -> list[JsonObject]:
    match tool, arguments:
        case "Edit", {"file_path": str(path), "old_string": str(old), "new_string": str(new)}:
            return [_diff(path, old, new, cwd)]
        case "Write", {"file_path": str(path), "content": str(new)}:
            return [_diff(path, None, new, cwd)]
        case "ExitPlanMode", {"plan": str(plan)}:
            return [_text(plan)]
        case "Bash", {"description": str(text)} if text:
            return [_text(text)]
    return []


def _change(detail: Any, cwd: str) -> JsonObject | None:
    """Return the change that a tool made, with the whole old text where it is known."""
    match detail:
        case {"filePath": str(path), "originalFile": str(old), "oldString": str(before), "newString": str(after)}:
            count = -1 if detail.get("replaceAll") else 1
            return _diff(path, old, old.replace(before, after, count), cwd)
        case {"filePath": str(path), "content": str(new), "originalFile": str() | None as old}:
            return _diff(path, old, new, cwd)
    return None


def _shown(content: Any) -> list[JsonObject]:
    if isinstance(content, str):
        return [_text(content)] if content else []
    shown = []
    for block in content if isinstance(content, list) else []:
        match block:
            case {"type": "text", "text": str(text)}:
                shown.append(_text(text))
            case {"type": "image", "source": {"type": "base64", "data": str(data), "media_type": str(kind)}}:
                shown.append({"type": "content", "content": {"type": "image", "data": data, "mimeType": kind}})
    return shown


def _locations(arguments: JsonObject, cwd: str) -> list[JsonObject]:
    found: list[JsonObject] = []
    for name in _PATHS:
        if isinstance(path := arguments.get(name), str) and path:
            line = arguments.get("offset")
            found.append({"path": os.path.join(cwd, path), **({"line": line} if type(line) is int else {})})
    return found


def _diff(path: str, old: str | None, new: str, cwd: str) -> JsonObject:
    return {"type": "diff", "path": os.path.join(cwd, path), "oldText": old, "newText": new}


def _text(text: str) -> JsonObject:
    return {"type": "content", "content": {"type": "text", "text": text}}

"""The summary of a tool call's input in one line."""

from __future__ import annotations

from bridle.wire.events.blocks import ToolUse, to_raw_text
from bridle.wire.events.loose_json import JsonObject, from_json
from bridle.wire.transcript.clip import Clip

SUMMARY_CHARACTERS = 200  # two lines of a wide terminal: enough to recognise a command

# Arguments by how much they say about a call; the first that is present is shown.
_SHOWN = (
    "command",
    "file_path",
    "notebook_path",
    "pattern",
    "url",
    "query",
    "description",
    "subject",
    "skill",
    "taskId",
    "task_id",
    "path",
    "prompt",
    "plan",
)
_ALSO_SHOWN = {"pattern": ("path", "glob"), "taskId": ("status",), "skill": ("args",)}


def summarize_call(call: ToolUse, clip: Clip) -> str:
    """Return the most telling argument of a call, else its whole input: a string as it is, other values as JSON."""
    value = from_json(call.input)
    if isinstance(value, dict):
        return _summarize_arguments(value, clip)
    return whole_input(call, clip)


def whole_input(call: ToolUse, clip: Clip) -> str:
    """Return a call's input in one line: a string as it is, other values as JSON, nothing for an empty object."""
    value = from_json(call.input)
    text = value if isinstance(value, str) else "" if value == {} else to_raw_text(value)
    return clip.line(text, SUMMARY_CHARACTERS)


def _summarize_arguments(arguments: JsonObject, clip: Clip) -> str:
    for name in _SHOWN:
        value = arguments.get(name)
        if isinstance(value, str | int) and value != "":
            others = [str(arguments[other]) for other in _ALSO_SHOWN.get(name, ()) if arguments.get(other)]
            return clip.line(" ".join((str(value), *others)), SUMMARY_CHARACTERS)
    return clip.line(to_raw_text(arguments), SUMMARY_CHARACTERS) if arguments else ""

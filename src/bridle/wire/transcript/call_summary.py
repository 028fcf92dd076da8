"""A tool call's input in one line."""

from __future__ import annotations

from typing import Any

from bridle.wire.events.blocks import to_raw_text
from bridle.wire.transcript.clip import Clip

SUMMARY_CHARACTERS = 200  # two lines of a wide terminal: enough to know a command again

# What tells most about a call, in this order; the first that is there is shown.
_TELLING = (
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
_BESIDE = {"pattern": ("path", "glob"), "taskId": ("status",), "skill": ("args",)}


def summarize_call(arguments: dict[str, Any], clip: Clip) -> str:
    """What a call is about, for the head of its card."""
    for name in _TELLING:
        value = arguments.get(name)
        if isinstance(value, str | int) and value != "":
            beside = [str(arguments[other]) for other in _BESIDE.get(name, ()) if arguments.get(other)]
            return clip.line(" ".join((str(value), *beside)), SUMMARY_CHARACTERS)
    return clip.line(to_raw_text(arguments), SUMMARY_CHARACTERS) if arguments else ""

"""What is taken away before the real program and ours are compared, each with its reason. Keep it short.

A number, a time or an id that is taken away leaves its kind in its place, so that a missing field, a text where a
number was, or a session that changes is still seen.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tests.real.side_by_side.play import Seen

# Measured by a clock, or drawn at random (the delay of a retry has jitter unless the server gave it).
NUMBERS = frozenset(
    {
        "duration_ms",
        "duration_api_ms",
        "durationMs",
        "durationSeconds",
        "end_time",
        "pid",
        "retry_delay_ms",
        "time_to_request_ms",
        "totalDurationMs",
        "ttft_ms",
        "ttft_stream_ms",
    }
)
# Each program has its own, and says so.
VERSIONS = frozenset({"claude_code_version", "version"})
# Shown in no particular order: names, or things that have one.
SETS = frozenset({"agents", "commands", "models", "skills", "slash_commands", "tools"})
# Words for people who choose from a list.
WORDS = frozenset({"description", "displayName"})
# Sums of prices differ in the last bits by the order in which they were added.
DIGITS = 9

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z")
# The stage numbers every request, also those by which a connection is warmed up.
_REQUEST = re.compile(r"req_[0-9a-f]+")
# Where a program keeps the output of a task, or one that is too large, is its own affair.
_KEPT_OUTPUT = re.compile(r"(?<![\w./<>-])[\w./<>-]*/(?:tasks|tool-results)/[\w<>-]+\.(?:output|txt)")
# How long a sub-agent took, in the text for its caller.
_DURATION = re.compile(
    r"""(?<=duration_ms: )\d+|(?<="duration_ms":)\d+|(?<="totalDurationMs": )\d+|(?<=<duration_ms>)\d+"""
)
_PORT = re.compile(r"127\.0\.0\.1:\d+")

PATTERNS = (
    (_UUID, "<uuid>"),
    (_TIME, "<time>"),
    (_REQUEST, "<request>"),
    (_PORT, "<stage>"),
    (_DURATION, "<number>"),
)


def normalised(seen: Seen, given: str = "") -> Callable[[Any], Any]:
    """The function that takes away what is this run's alone, at any depth of a value; ids in `given` are everyone's."""
    names = {**_given_ids(given), **dict(_names(seen))}

    def text(value: str) -> str:
        for name, token in names.items():
            value = value.replace(name, token)
        for pattern, token in PATTERNS:
            value = pattern.sub(token, value)
        return _KEPT_OUTPUT.sub("<kept output>", value)

    def clean(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {text(name): clean(item, name) for name, item in value.items()}
        if isinstance(value, list | tuple):
            return _as_set(value, clean) if key in SETS else [clean(item) for item in value]
        if isinstance(value, bool) or value is None:
            return value
        if isinstance(value, int | float):
            return "<number>" if key in NUMBERS else round(value, DIGITS)
        return "<version>" if key in VERSIONS else text(value)

    return clean


def _names(seen: Seen) -> Iterator[tuple[str, str]]:
    """Folders, and the ids that the program made, numbered in the order in which they appear."""
    for path, token in ((seen.workspace, "<workspace>"), (seen.home, "<home>")):
        yield str(path), token
        # A folder's name for the sessions of a workspace.
        yield re.sub(r"[^A-Za-z0-9]", "-", str(path)), token
    events = [event for start in seen.starts for event in start.events]
    for key, kind in (("session_id", "session"), ("task_id", "task")):
        ids = (event[key] for event in events if isinstance(event.get(key), str))
        for number, found in enumerate(dict.fromkeys(ids), start=1):
            yield found, f"<{kind}-{number}>"


def _given_ids(text: str) -> dict[str, str]:
    """The ids that the scenario itself has, numbered: they must come out as they went in."""
    ids = dict.fromkeys(_UUID.findall(text))
    return {found: f"<given-{number}>" for number, found in enumerate(ids, start=1)}


def _as_set(items: Sequence[Any], clean: Callable[[Any], Any]) -> Any:
    """Names in their order, or things by their names and without the words that describe them."""
    if all(isinstance(item, str) for item in items):
        return sorted(items)
    named = [item for item in items if isinstance(item, dict) and (item.get("name") or item.get("value"))]
    if len(named) < len(items):
        return [clean(item) for item in items]
    return {str(item.get("name") or item.get("value")): clean(_wordless(item)) for item in named}


def _wordless(item: dict[str, Any]) -> dict[str, Any]:
    return {key: "<words>" if key in WORDS and isinstance(value, str) else value for key, value in item.items()}

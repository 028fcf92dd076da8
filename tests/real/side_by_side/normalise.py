"""What is taken away before the real program and ours are compared, each with its reason. Keep it short.

A number, a time or an id that is taken away leaves its kind in its place, so that a missing field, a text where a
number was, or a session that changes is still seen.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from tests.real.side_by_side.play import Seen

# Measured by a clock, or drawn at random (the delay of a retry has jitter unless the server gave it).
NUMBERS = frozenset(
    {
        "duration_ms",
        "duration_api_ms",
        "durationMs",
        "end_time",
        "pid",
        "retry_delay_ms",
        "time_to_request_ms",
        "ttft_ms",
        "ttft_stream_ms",
    }
)
# Each program has its own, and says so.
VERSIONS = frozenset({"claude_code_version", "version"})
# Shown in no particular order.
SETS = frozenset({"agents", "skills", "slash_commands", "tools"})
# What the vendor's program brings along for its own customers: its names are no part of the contract.
_SKILLS = frozenset(
    {
        "batch",
        "claude-api",
        "code-review",
        "debug",
        "deep-research",
        "fewer-permission-prompts",
        "keybindings-help",
        "loop",
        "run",
        "run-skill-generator",
        "simplify",
        "update-config",
        "verify",
    }
)
_COMMANDS = frozenset(
    {
        "clear",
        "compact",
        "config",
        "context",
        "goal",
        "heapdump",
        "init",
        "insights",
        "reload-skills",
        "review",
        "security-review",
        "team-onboarding",
        "usage",
    }
)
VENDORS_OWN = {
    "commands": _SKILLS | _COMMANDS,
    "agents": frozenset({"claude", "Explore", "general-purpose", "Plan", "statusline-setup"}),
    "skills": _SKILLS,
    "slash_commands": _SKILLS | _COMMANDS,
}
# Sums of prices differ in the last bits by the order in which they were added.
DIGITS = 9

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z")
# The stage numbers every request, also those by which a connection is warmed up.
_REQUEST = re.compile(r"req_[0-9a-f]+")
# Where a program keeps the output of a task, or one that is too large, is its own affair.
_KEPT_OUTPUT = re.compile(r"(?<![\w./<>-])[\w./<>-]*/(?:tasks|tool-results)/[\w<>-]+\.(?:output|txt)")
_PORT = re.compile(r"127\.0\.0\.1:\d+")


def normalised(seen: Seen) -> Callable[[Any], Any]:
    """The function that takes away what is this run's alone, at any depth of a value."""
    names = dict(_names(seen))

    def text(value: str) -> str:
        for name, token in names.items():
            value = value.replace(name, token)
        for pattern, token in ((_UUID, "<uuid>"), (_TIME, "<time>"), (_REQUEST, "<request>"), (_PORT, "<stage>")):
            value = pattern.sub(token, value)
        return _KEPT_OUTPUT.sub("<kept output>", value)

    def clean(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {text(name): clean(item, name) for name, item in value.items()}
        if isinstance(value, list | tuple):
            kept = [item for item in value if _name_of(item) not in VENDORS_OWN.get(key, ())]
            return sorted(kept) if _is_set(key, kept) else [clean(item) for item in kept]
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


def _name_of(item: Any) -> Any:
    return item.get("name") if isinstance(item, dict) else item if isinstance(item, str) else None


def _is_set(key: str, items: list[Any]) -> bool:
    return key in SETS and all(isinstance(item, str) for item in items)

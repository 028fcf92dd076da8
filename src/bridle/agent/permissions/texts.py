"""What the model and the host read when a call is not allowed.

The first sentence has the form that programs and models know. What follows it, in our words, names the rule that
would let the call through.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

BYPASS_AS_ROOT: Final = (
    "--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons"
    " (set IS_SANDBOX=1 if this machine is a sandbox that may be lost)"
)
DENIED_FOLDER: Final = (
    "<tool_use_error>File is in a directory that is denied by your permission settings.</tool_use_error>"
)
# A rule in an advice is for copying; a longer one is no use to anybody.
_ADVICE_LIMIT_CHARACTERS: Final = 200


def denied_tool(tool: str) -> str:
    """A rule forbids every call of this tool."""
    return f"Permission to use {tool} has been denied."


def denied_call(tool: str, what: str | None) -> str:
    """A rule forbids this call."""
    return f"Permission to use {tool} with {what} has been denied." if what else denied_tool(tool)


def denied_command(command: str) -> str:
    """A rule forbids this command."""
    return f"Permission to use Bash with command {command} has been denied."


def dont_ask(tool: str, help_text: str) -> str:
    """The mode says that nobody is asked."""
    first = f"Permission to use {tool} has been denied because Claude Code is running in don't ask mode."
    return (
        f"{first} {help_text} Another tool may be used if it serves the same purpose and the denial was not meant"
        " for it; do not look for a way around the denial itself. If the work cannot go on without this, stop and"
        " tell the user what you wanted to do and why."
    )


def plan_write(path: str) -> str:
    """Nothing is written while a plan is made."""
    return f"Cannot write to {path} while in plan mode."


def ask_file(path: str, resolved: str, *, writes: bool, protected: bool) -> str:
    """Somebody must allow that this file is read or changed."""
    verb = "write to" if writes else "read from"
    first = f"Claude requested permissions to {verb} {path}, but you haven't granted it yet."
    note = " It is a file that decides what other programs do, and is changed only by a rule." if protected else ""
    return f"{first}{note} {allow_with(('Edit' if writes else 'Read') + f'(/{resolved})')}"


def no_path(tool: str, path: str) -> str:
    """The path of a call cannot be followed."""
    return (
        f"Claude requested permissions to use {tool}, but where the path {json.dumps(path)[:300]} leads cannot be told."
    )


def ask_tool(tool: str, what: str | None) -> str:
    """Somebody must allow this tool."""
    first = f"Claude requested permissions to use {tool}, but you haven't granted it yet."
    return f"{first} {allow_with(f'{tool}({what})' if what else tool)}"


def advice(tool: str, arguments: Mapping[str, Any]) -> str:
    """How to allow such a call, where no more is known than its tool."""
    command = arguments.get("command")
    if tool == "Bash" and isinstance(command, str) and len(command.split()) > 0:
        return allow_with(f"Bash({command.split()[0]} *)")
    return allow_with(tool)


def allow_with(*rules: str) -> str:
    """How to allow it: the flag with the missing rules, or the settings."""
    short = [rule for rule in rules if len(rule) <= _ADVICE_LIMIT_CHARACTERS and rule.isprintable()]
    if len(short) < len(rules) or not rules:
        return 'To allow it, start with a rule for it in --allowedTools, or list the rule in "permissions.allow".'
    flags = " ".join("'" + rule.replace("'", "'\\''") + "'" for rule in short)
    return f'To allow it: --allowedTools {flags}, or the same in "permissions.allow" of the settings.'

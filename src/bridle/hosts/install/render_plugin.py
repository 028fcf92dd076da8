"""Render the plugin's templates for one folder of one machine.

The templates contain paths (Python, Bridle, the plugin) as `@NAME@`. They are filled in here, quoted for the shell or
as a Python string, so that any path is safe.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from bridle.hosts.hooks.shell_command import IN_PLUGIN

SOURCE = Path(__file__).with_name("plugin")
PACKAGE = Path(__file__).resolve().parents[3]
"""The folder that contains this Bridle package."""
HOOKS = "hooks/hooks.json"
ENTRY = "hooks/hook.py"
UNBOUND = "hooks/unbound.sh"
PROGRAM = IN_PLUGIN

# Used inside quotes of the shell, of JSON and of Python: it must contain no quote, backslash or dollar.
GONE = (
    "Bridle is not where this plugin expects it, so stops of this session are not blocked. "
    "Install Bridle again and run: bridle plugin install; or remove the plugin."
)

# After this many blocked stops in a row without a tool call, Claude Code ends the session anyway.
BLOCK_CAP = 8
BLOCK_CAP_VARIABLE = "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP"

_NAME = re.compile(r"@([A-Z]+)@")
_PYTHON_NAME = re.compile(r'"@([A-Z]+)@"')
_PLAIN = frozenset({"GONE", "VERSION"})


class Origin(Struct, frozen=True):
    """The Bridle installation that a plugin belongs to."""

    python: str
    """The interpreter, as an absolute path."""
    package: str
    """The folder that contains the package `bridle`."""
    version: str


class File(Struct, frozen=True):
    """One file of the plugin."""

    data: bytes
    mode: int


def render(folder: Path, origin: Origin) -> dict[str, File]:
    """Return every file of the plugin, by its path in the folder."""
    values = {
        "PYTHON": origin.python,
        "PACKAGE": origin.package,
        "VERSION": origin.version,
        "GONE": GONE,
        "PLUGIN": str(folder),
        "ENTRY": str(folder / ENTRY),
        "UNBOUND": str(folder / UNBOUND),
        "PROGRAM": str(folder / PROGRAM),
    }
    sources = sorted(path for path in SOURCE.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {str(path.relative_to(SOURCE)): _file(path, values) for path in sources}


def hook_command(folder: Path, origin: Origin, event: str) -> str:
    """Return the command that the host runs for an event."""
    hooks = json.loads(render(folder, origin)[HOOKS].data)
    command: str = hooks["hooks"][event][0]["hooks"][0]["command"]
    return command


def block_cap(environment: Mapping[str, str]) -> str:
    """Describe how many stops without a tool call Claude Code lets a hook block."""
    value = environment.get(BLOCK_CAP_VARIABLE, "")
    number = int(value) if value.isascii() and value.isdigit() else BLOCK_CAP
    if number == 0:
        return f"Claude Code lets hooks block stops without limit ({BLOCK_CAP_VARIABLE} is 0)"
    return (
        f"Claude Code ends a session after {number} stops in a row without a tool call "
        f"({BLOCK_CAP_VARIABLE} {'is set' if value else 'changes the number'})"
    )


def _file(path: Path, values: Mapping[str, str]) -> File:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        content = json.dumps(_fill_json(json.loads(text), values), indent=2, ensure_ascii=False) + "\n"
    elif path.suffix == ".py":
        content = _PYTHON_NAME.sub(lambda match: ascii(values[match[1]]), text)
    else:
        content = _fill(text, values)
    is_program = str(path.relative_to(SOURCE)) == PROGRAM
    return File(content.encode("utf-8", "surrogateescape"), 0o755 if is_program else 0o644)


def _fill_json(value: Any, values: Mapping[str, str]) -> Any:
    """Fill in every string of a JSON document."""
    if isinstance(value, str):
        return _fill(value, values)
    if isinstance(value, list):
        return [_fill_json(item, values) for item in value]
    return {name: _fill_json(item, values) for name, item in value.items()} if isinstance(value, dict) else value


def _fill(text: str, values: Mapping[str, str]) -> str:
    return _NAME.sub(
        lambda match: values[match[1]] if match[1] in _PLAIN else shlex.quote(values[match[1]]),
        text,
    )

"""The plugin as it lies in this package, made ready for one folder of one machine.

What the files need to know (which Python, where Bridle is, where the plugin lies) stands in them as `@NAME@` and is
filled in here: quoted for the shell, or as a Python string, so that any path is safe.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bridle.hosts.hooks.bridle_command import IN_PLUGIN

SOURCE = Path(__file__).with_name("plugin")
PACKAGE = Path(__file__).resolve().parents[3]
"""The folder that holds this very Bridle."""
HOOKS = "hooks/hooks.json"
ENTRY = "hooks/hook.py"
PROGRAM = IN_PLUGIN

# Stands between quotes of the shell, of JSON and of Python: no quote, no backslash and no dollar may be in it.
GONE = (
    "Bridle is not where this plugin expects it, so this session is not held. "
    "Install Bridle again and run: bridle plugin install; or remove the plugin."
)

# After so many blocks in a row without a tool call Claude Code ends a session, whatever its hooks say.
BLOCK_CAP = 8
BLOCK_CAP_VARIABLE = "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP"

_NAME = re.compile(r"@([A-Z]+)@")
_PYTHON_NAME = re.compile(r'"@([A-Z]+)@"')
_PLAIN = frozenset({"GONE", "VERSION"})


@dataclass(frozen=True)
class Origin:
    """The Bridle that the plugin belongs to."""

    python: str
    """The interpreter, as an absolute path."""
    package: str
    """The folder that holds the package `bridle`."""
    version: str


@dataclass(frozen=True)
class File:
    """One file of the plugin."""

    data: bytes
    mode: int


def rendered(folder: Path, origin: Origin) -> dict[str, File]:
    """Every file of the plugin, by its path in the folder it is meant for."""
    values = {
        "PYTHON": origin.python,
        "PACKAGE": origin.package,
        "VERSION": origin.version,
        "GONE": GONE,
        "PLUGIN": str(folder),
        "ENTRY": str(folder / ENTRY),
        "PROGRAM": str(folder / PROGRAM),
    }
    sources = sorted(path for path in SOURCE.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {str(path.relative_to(SOURCE)): _file(path, values) for path in sources}


def hook_command(folder: Path, origin: Origin, event: str) -> str:
    """What the plugin has its host run for an event."""
    hooks = json.loads(rendered(folder, origin)[HOOKS].data)
    command: str = hooks["hooks"][event][0]["hooks"][0]["command"]
    return command


def block_cap(environment: Mapping[str, str]) -> str:
    """How long the host lets a hook hold a session in which nothing is done, in words."""
    chosen = environment.get(BLOCK_CAP_VARIABLE, "")
    number = int(chosen) if chosen.isascii() and chosen.isdigit() else BLOCK_CAP
    if number == 0:
        return f"Claude Code holds a session without limit ({BLOCK_CAP_VARIABLE} is 0)"
    return (
        f"Claude Code ends a session after {number} stops in a row without a tool call "
        f"({BLOCK_CAP_VARIABLE} {'is set' if chosen else 'changes the number'})"
    )


def _file(path: Path, values: Mapping[str, str]) -> File:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        made = json.dumps(_filled(json.loads(text), values), indent=2, ensure_ascii=False) + "\n"
    elif path.suffix == ".py":
        made = _PYTHON_NAME.sub(lambda found: ascii(values[found[1]]), text)
    else:
        made = _shell(text, values)
    is_program = str(path.relative_to(SOURCE)) == PROGRAM
    return File(made.encode("utf-8", "surrogateescape"), 0o755 if is_program else 0o644)


def _filled(value: Any, values: Mapping[str, str]) -> Any:
    """A JSON document with every text in it filled in."""
    if isinstance(value, str):
        return _shell(value, values)
    if isinstance(value, list):
        return [_filled(one, values) for one in value]
    return {name: _filled(one, values) for name, one in value.items()} if isinstance(value, dict) else value


def _shell(text: str, values: Mapping[str, str]) -> str:
    return _NAME.sub(
        lambda found: values[found[1]] if found[1] in _PLAIN else shlex.quote(values[found[1]]),
        text,
    )

"""Flags that keep Claude Code from using settings of a repository that the user has not trusted.

With `-p` Claude Code asks for no trust: it would run hooks and MCP servers of the repository, and set its variables.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from bridle.errors import DiskError
from bridle.ground import disk, trust
from bridle.ground.git_folder import leads_out

AGENT = "claude"
# Together with the prompt they fit into the arguments of a process.
INSTRUCTIONS_LIMIT_BYTES = 24 * 1024
# Its rules that restrict are passed as a flag.
_KEPT = ("permissions", "$schema")
_INSTRUCTIONS = ("CLAUDE.md", ".claude/CLAUDE.md")


class Untrusted(NamedTuple):
    """What of a repository's settings does not count."""

    flags: tuple[str, ...] = ()
    """Flags of Claude Code that leave them out."""
    message: str = ""


def find_untrusted(agent: str, cwd: Path, environment: Mapping[str, str]) -> Untrusted:
    """Return what an agent must not use of the settings in its folder; nothing for agents that ask by themselves."""
    if agent != AGENT:
        return Untrusted()
    cwd = cwd.resolve()
    files = {"project": ".claude/settings.json", "local": ".claude/settings.local.json"}
    shipped = {name: _read(cwd / file) for name, file in files.items()}
    if shipped["local"] and not trust.is_local_file_shipped(cwd):
        shipped["local"] = {}
    granted = {files[name]: trust.grants(settings) for name, settings in shipped.items()}
    if _read(cwd / ".mcp.json").get("mcpServers"):
        granted[".mcp.json"] = ["mcpServers"]
    granted = {file: keys for file, keys in granted.items() if keys}
    config = environment.get("CLAUDE_CONFIG_DIR") or f"{environment.get('HOME', '')}/.claude"
    if not granted or trust.are_settings_trusted(cwd, environment, Path(config)):
        return Untrusted()
    for name, file in files.items():  # the flags leave out the whole file
        if file in granted or name == "project":
            left_out = [key for key in shipped[name] if key not in (*granted.get(file, ()), *_KEPT)]
            granted |= {file: [*granted.get(file, ()), *left_out]} if left_out else {}
    listed = ", ".join(f"{', '.join(keys)} of {file}" for file, keys in granted.items())
    return Untrusted(
        (*_flags(cwd, shipped, keeps_local=files["local"] not in granted),),
        f"claude does not use {listed} in {cwd}: you have not agreed. Read them, then run: bridle trust",
    )


def _flags(cwd: Path, shipped: Mapping[str, Mapping[str, object]], *, keeps_local: bool) -> list[str]:
    """Return flags without the repository's settings, but with its rules that restrict, and its instructions."""
    rules: dict[str, list[object]] = {"deny": [], "ask": []}
    for settings in shipped.values():
        permissions = settings.get("permissions")
        for kind, listed in rules.items():
            found = permissions.get(kind) if isinstance(permissions, dict) else None
            listed += found if isinstance(found, list) else []
    flags = [f"--setting-sources={'user,local' if keeps_local else 'user'}"]
    if any(rules.values()):
        flags.append(f"--settings={json.dumps({'permissions': rules})}")
    inside = [cwd / name for name in _INSTRUCTIONS if not leads_out(cwd / name, cwd)]
    texts = [text for path in inside if (text := _text(path))]
    if texts:
        flags.append(f"--append-system-prompt={chr(10).join(['Instructions of this project:', *texts])}")
    return flags


def _read(path: Path) -> dict[str, object]:
    try:
        value = disk.read_json(path)
    except DiskError:
        return {"hooks": "unknown", "mcpServers": "unknown"}  # the agent may be able to read what we cannot
    return value if isinstance(value, dict) else {}


def _text(path: Path) -> str:
    try:
        data = disk.read_if_exists(path, INSTRUCTIONS_LIMIT_BYTES)
    except DiskError:
        return ""
    return (data or b"").decode("utf-8", "replace")

"""The plugins of `--plugin-dir`: what each folder has by its manifest, and what is wrong with it.

A manifest that is not valid is refused, and the plugin with it, as in Claude Code. It may name other places for
commands, agents and skills, which lie in the plugin.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from bridle.agent.settings.settings_file import read_object

MANIFEST = Path(".claude-plugin") / "plugin.json"
# A path that a manifest may name: below the plugin's folder.
_PATH = re.compile(r"\./(?!.*(?:^|/)\.\.(?:/|$))[^\0]*")


class Plugin(msgspec.Struct, frozen=True):
    """A plugin and where its parts are; not all of the paths exist."""

    name: str
    path: Path
    commands: tuple[Path, ...] = ()
    """Documents, or folders of them."""
    agents: tuple[Path, ...] = ()
    skills: tuple[Path, ...] = ()
    """Folders of skills, or of one skill."""
    hooks: tuple[Any, ...] = ()
    """Paths of files, or objects of events."""
    servers: tuple[Any, ...] = ()
    """Paths of files, or objects of MCP servers."""


class Plugins(msgspec.Struct, frozen=True):
    """The plugins that can be used, and for the first event of a turn what cannot."""

    loaded: tuple[Plugin, ...] = ()
    errors: tuple[dict[str, str], ...] = ()
    warnings: tuple[dict[str, str], ...] = ()


def load_plugins(cwd: Path, folders: Sequence[str | Path]) -> Plugins:
    """Read the manifests of the folders."""
    loaded: list[Plugin] = []
    errors: list[dict[str, str]] = []
    warnings: list[dict[str, str]] = []
    for place, named in enumerate(folders):
        folder = cwd / named
        if not folder.exists():
            errors.append(_problem(f"inline[{place}]", "path-not-found", f"Path not found: {named} (commands)"))
            continue
        try:
            manifest = _manifest(folder)
        except ValueError as error:
            text = f"Failed to load plugin: Plugin {folder.name} {error}"
            errors.append(_problem(f"inline[{place}]", "generic-error", text))
            continue
        plugin = _plugin(folder, manifest)
        loaded.append(plugin)
        errors += _missing(plugin, manifest)
        warnings += _shadowed(folder, manifest)
    return Plugins(tuple(loaded), tuple(errors), tuple(warnings))


def _manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest; without one the plugin has the name of its folder. Raises ValueError if it is invalid."""
    path = folder / MANIFEST
    try:
        manifest = read_object(path) if folder.is_dir() else None
    except ValueError as error:
        raise ValueError(f"has a corrupt manifest file at {path}.\n\n{error}") from None
    if manifest is None:
        return {"name": folder.name}
    faults = _faults(manifest)
    if faults:
        raise ValueError(f"has an invalid manifest file at {path}.\n\nValidation errors: {', '.join(faults)}")
    return manifest


def _faults(manifest: dict[str, Any]) -> list[str]:
    name = manifest.get("name")
    faults: list[str] = []
    if not isinstance(name, str) or not name:
        faults.append("name: it must be a text that is not empty")
    elif " " in name:
        faults.append("name: Plugin name cannot contain spaces")
    faults += [
        f"{key}: it must be a text"
        for key in ("version", "description", "homepage", "license")
        if not isinstance(manifest.get(key, ""), str)
    ]
    if not isinstance(manifest.get("author", {}), dict):
        faults.append("author: it must be an object")
    faults += [
        f"{key}: each path must begin with ./ and lie in the plugin"
        for key in ("commands", "agents", "skills")
        if not _are_paths(manifest.get(key, []), ".md" if key == "agents" else "")
    ]
    return faults


def _are_paths(value: Any, ending: str) -> bool:
    return isinstance(value, dict) or all(
        isinstance(item, str) and _PATH.fullmatch(item) and item.endswith(ending) for item in _listed(value)
    )


def _plugin(folder: Path, manifest: dict[str, Any]) -> Plugin:
    def places(key: str) -> tuple[Path, ...]:
        return tuple(folder / item for item in _listed(manifest.get(key, [])) if isinstance(item, str))

    return Plugin(
        str(manifest["name"]),
        folder,
        commands=places("commands") if "commands" in manifest else (folder / "commands",),
        agents=places("agents") if "agents" in manifest else (folder / "agents",),
        skills=_skills(folder, places("skills")),
        hooks=("hooks/hooks.json", *_listed(manifest.get("hooks", []))),
        servers=(".mcp.json", *_listed(manifest.get("mcpServers", []))),
    )


def _skills(folder: Path, named: tuple[Path, ...]) -> tuple[Path, ...]:
    """Return where a plugin's skills are; one that has no place for them may be a skill itself."""
    usual = folder / "skills"
    return (folder,) if not named and not usual.is_dir() else (usual, *named)


def _missing(plugin: Plugin, manifest: dict[str, Any]) -> list[dict[str, str]]:
    return [
        _problem(f"{plugin.path.name}@inline", "path-not-found", f"Path not found: {path} ({key})")
        for key, paths in (("commands", plugin.commands), ("agents", plugin.agents), ("skills", plugin.skills[1:]))
        if key in manifest
        for path in paths
        if not path.exists()
    ]


def _shadowed(folder: Path, manifest: dict[str, Any]) -> list[dict[str, str]]:
    return [
        _problem(
            f"{folder.name}@inline",
            "folder-shadowed-by-manifest",
            f'Default {key}/ folder is ignored because the manifest sets "{key}"',
        )
        for key in ("commands", "agents")
        if key in manifest and (folder / key).is_dir()
    ]


def _problem(plugin: str, kind: str, message: str) -> dict[str, str]:
    return {"plugin": plugin, "type": kind, "message": message}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]

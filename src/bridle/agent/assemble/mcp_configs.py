"""Where the MCP servers of a run are configured: flags, plugins, the user, the local project and the repository."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from bridle.agent.assemble.run_inputs import RunInputs, plugins_of
from bridle.agent.mcp.config import ServerConfig, parse_servers
from bridle.agent.prompt.system_prompt import read_file
from bridle.agent.settings.settings_file import read_object
from bridle.agent.skills.plugins import Plugin
from bridle.errors import UsageError
from bridle.ground import trust
from bridle.ground.git_folder import folders_up_to_top

PROJECT_FILE = ".mcp.json"
_INVALID = "Error: Invalid MCP configuration:\n"


class FoundServers(msgspec.Struct, frozen=True):
    """The servers of a run, of two with the same name the one that counts, and warnings for the user."""

    configs: list[ServerConfig]
    warnings: tuple[str, ...] = ()


def find_servers(inputs: RunInputs) -> FoundServers:
    """Return all configured servers. Raises UsageError if a flag is invalid; an invalid file is a warning."""
    options, warnings = inputs.options, list[str]()
    found: list[ServerConfig] = []
    if not (options.is_strict_mcp or options.is_bare or options.is_safe):
        for plugin in plugins_of(inputs).loaded:
            found += _of_plugin(plugin, inputs, warnings)
        found += _of_registers(inputs, warnings)
    for text in options.mcp_configs:
        found += parse_servers(_of_flag(text, inputs.cwd), "dynamic", _variables(inputs))
    return FoundServers(list({config.name: config for config in found}.values()), tuple(warnings))


def _of_flag(text: str, cwd: Path) -> dict[str, Any]:
    if not _is_json(text):
        path = cwd / text
        if not path.is_file():
            raise UsageError(f"{_INVALID}MCP config file not found: {path}")
        text = read_file("--mcp-config", path)
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise UsageError(f"{_INVALID}MCP config is not a valid JSON") from None
    servers = document.get("mcpServers") if isinstance(document, dict) else None
    if not isinstance(servers, dict):
        raise UsageError(f"{_INVALID}mcpServers: expected an object of servers")
    return servers


def _is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return text.lstrip().startswith("{") and "\n" in text


def _of_registers(inputs: RunInputs, warnings: list[str]) -> list[ServerConfig]:
    """Return the servers of the user, the repository and the local project, in the order of precedence."""
    selected = inputs.options.setting_sources
    sources = ("user", "project", "local") if selected is None else selected
    documents = [document for path in _registers(inputs) if (document := _read(path, warnings)) is not None]
    found: list[ServerConfig] = []
    if "user" in sources:
        for document in documents:
            found += parse_servers(_object(document, "mcpServers"), "user", _variables(inputs))
    if "project" in sources:
        found += _of_project(inputs, warnings)
    if "local" in sources:
        for document in documents:
            project = _object(_object(document, "projects"), str(inputs.cwd))
            found += parse_servers(_object(project, "mcpServers"), "local", _variables(inputs))
    return found


def _of_project(inputs: RunInputs, warnings: list[str]) -> list[ServerConfig]:
    """Return the servers of the repository, from its top down to the working folder, if the user trusts it."""
    found: list[ServerConfig] = []
    for folder in reversed(folders_up_to_top(inputs.cwd)):
        path = folder / PROJECT_FILE
        servers = _object(_read(path, warnings) or {}, "mcpServers")
        if not servers:
            continue
        if not trust.are_settings_trusted(folder, inputs.environment, inputs.config_folder):
            warnings.append(
                f"Ignoring {len(servers)} MCP {'server' if len(servers) == 1 else 'servers'} from {path}:"
                f" this workspace has not been trusted. If you trust it, run `bridle trust`"
                f", or set {trust.TRUST_VARIABLE}=1."
            )
            continue
        off = inputs.settings.other.get("disabledMcpjsonServers")
        disabled = off if isinstance(off, list) else []
        enabled = {name: entry for name, entry in servers.items() if name not in disabled}
        found += parse_servers(enabled, "project", _variables(inputs))
    return found


def _of_plugin(plugin: Plugin, inputs: RunInputs, warnings: list[str]) -> list[ServerConfig]:
    variables = {**_variables(inputs), "CLAUDE_PLUGIN_ROOT": str(plugin.path)}
    found: list[ServerConfig] = []
    for place in plugin.servers if plugin.path.is_dir() else ():
        document = _read(plugin.path / place, warnings) if isinstance(place, str) else place
        if isinstance(document, dict):
            table = _object(document, "mcpServers") if "mcpServers" in document else document
            found += parse_servers(table, "dynamic", variables, prefix=f"plugin:{plugin.name}:")
    return found


def _variables(inputs: RunInputs) -> Mapping[str, str]:
    return {"CLAUDE_PROJECT_DIR": str(inputs.cwd), **inputs.environment}


def _registers(inputs: RunInputs) -> tuple[Path, ...]:
    return trust.claude_registers(inputs.environment, inputs.config_folder)


def _read(path: Path, warnings: list[str]) -> dict[str, Any] | None:
    try:
        return read_object(path)
    except ValueError as error:
        warnings.append(f"Ignoring {path}: {error}")
        return None


def _object(document: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = document.get(key)
    return value if isinstance(value, dict) else {}

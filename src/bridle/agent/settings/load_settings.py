"""Loads the settings of a run: of the user, the project, the local project, the command line and the administrator.

A file that cannot be used is skipped with a warning. Warnings are returned, not printed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Final

import msgspec

from bridle.agent.permissions.rules.policy import MODES
from bridle.agent.permissions.rules.syntax import Rule, parse_rule
from bridle.agent.settings.settings_file import JsonObject, read_flag, read_object
from bridle.errors import UsageError
from bridle.ground import trust
from bridle.ground.trust import SETTINGS_AFTER_TRUST, TRUST_VARIABLE

SOURCES: Final = ("user", "project", "local")
MANAGED_SETTINGS: Final = Path("/etc/claude-code/managed-settings.json")


_TYPE_NAMES: Final[dict[type, str]] = {dict: "an object", list: "a list", str: "text"}


class Settings(msgspec.Struct, frozen=True):
    """The merged settings of all files."""

    allow: tuple[Rule, ...] = ()
    deny: tuple[Rule, ...] = ()
    ask: tuple[Rule, ...] = ()
    default_mode: str | None = None
    additional_folders: tuple[str, ...] = ()
    """Absolute, with links resolved."""
    environment: dict[str, str] = {}
    """Additional variables for this program and its commands."""
    model: str | None = None
    api_key_helper: str | None = None
    skips_permissions: bool = False
    """`dangerouslySkipPermissions` of any file but that of a project that is not trusted."""
    bypass_setting: str | None = None
    """The setting that bypasses permissions, and its file."""
    hooks: tuple[tuple[str, JsonObject], ...] = ()
    """The source and the `hooks` of each file, in the order of precedence."""
    other: JsonObject = {}
    """All other keys; later files take precedence."""
    warnings: tuple[str, ...] = ()
    """Warnings for the user, one line each."""
    notes: tuple[str, ...] = ()
    """Messages for the debug log."""


def load_settings(
    cwd: Path,
    config_folder: Path,
    sources: Iterable[str] | None = None,
    extra: str | None = None,
    environment: Mapping[str, str] | None = None,
    *,
    managed: Path | None = MANAGED_SETTINGS,
) -> Settings:
    """Load the settings: `sources` as in `--setting-sources` (None for all), `extra` as in `--settings`.

    Raise UsageError for an invalid command line; an invalid file is a warning.
    """
    reader = _Reader(cwd, config_folder, environment or {})
    selected = SOURCES if sources is None else tuple(sources)
    unknown = [source for source in selected if source not in SOURCES]
    if unknown:
        raise UsageError(f"Invalid setting source: {unknown[0]}. Valid options are: {', '.join(SOURCES)}")
    paths = {
        "user": config_folder / "settings.json",
        "project": cwd / ".claude" / "settings.json",
        "local": cwd / ".claude" / "settings.local.json",
    }
    for source in SOURCES:
        if source in selected:
            reader.add(source, reader.read(source, paths[source]))
    if extra is not None and extra.strip():
        reader.add("settings", read_flag(extra, cwd))
    if managed is not None:
        reader.add("managed", reader.read("managed", managed))
    return reader.settings()


class _Reader:
    """Merges the settings of one file after the other."""

    def __init__(self, cwd: Path, config_folder: Path, environment: Mapping[str, str]) -> None:
        self._cwd, self._config_folder, self._environment = cwd, config_folder, environment
        self._rules: dict[str, list[Rule]] = {"allow": [], "deny": [], "ask": []}
        self._folders: list[str] = []
        self._hooks: list[tuple[str, JsonObject]] = []
        self._variables: dict[str, str] = {}
        self._default_mode: str | None = None
        self._model: str | None = None
        self._api_key_helper: str | None = None
        self._other: JsonObject = {}
        self._skip_setting: str | None = None
        self._mode_setting: str | None = None
        self._files = {"settings": "--settings"}
        """Where the settings of each source come from."""
        self._warnings: list[str] = []
        self._notes: list[str] = []

    def settings(self) -> Settings:
        return Settings(
            allow=tuple(self._rules["allow"]),
            deny=tuple(self._rules["deny"]),
            ask=tuple(self._rules["ask"]),
            default_mode=self._default_mode,
            additional_folders=tuple(dict.fromkeys(self._folders)),
            environment=self._variables,
            model=self._model,
            api_key_helper=self._api_key_helper,
            skips_permissions=self._skip_setting is not None,
            bypass_setting=self._skip_setting or self._mode_setting,
            hooks=tuple(self._hooks),
            other=self._other,
            warnings=tuple(self._warnings),
            notes=tuple(self._notes),
        )

    def read(self, source: str, path: Path) -> JsonObject:
        """Return the object of a source's file; empty if it is missing or cannot be used."""
        self._files[source] = str(path)
        try:
            settings = read_object(path)
        except ValueError as error:
            self._warnings.append(f"Ignoring {path}: {error}")
            return {}
        if settings is None:
            return {}
        self._notes.append(f"read settings from {path}")
        return settings

    def add(self, source: str, settings: JsonObject) -> None:
        """Merge the settings of one source over those before it."""
        for key, value in settings.items():
            if key in SETTINGS_AFTER_TRUST and value not in (False, {}, []) and not self._may_grant(source):
                self._warnings.append(self._untrusted(key, source))
                continue
            match key, value:
                case "permissions", _:
                    self._add_permissions(source, value)
                case "env", _:
                    self._add_variables(source, value)
                case "dangerouslySkipPermissions", _:
                    self._add_skip(source, value)
                case "hooks", dict():
                    self._hooks.append((source, value))
                case "model", str():
                    self._model = value
                case "apiKeyHelper", str():
                    self._api_key_helper = value
                case (("hooks" | "model" | "apiKeyHelper"), _):
                    self._wrong_type(source, key, dict if key == "hooks" else str)
                case _:
                    self._other[key] = value

    def _wrong_type(self, source: str, key: str, expected: type) -> None:
        self._warnings.append(f"Ignoring {key!r} of the {source} settings: it must be {_TYPE_NAMES[expected]}.")

    def _add_permissions(self, source: str, value: object) -> None:
        if not isinstance(value, dict):
            self._wrong_type(source, "permissions", dict)
            return
        for kind in ("allow", "deny", "ask"):
            rules = value.get(kind, [])
            if isinstance(rules, list):
                self._add_rules(source, kind, rules)
            else:
                self._wrong_type(source, f"permissions.{kind}", list)
        if "additionalDirectories" in value:
            self._add_folders(source, value["additionalDirectories"])
        if "defaultMode" in value:
            self._add_mode(source, value["defaultMode"])

    def _add_rules(self, source: str, kind: str, values: list[object]) -> None:
        rules: list[Rule] = []
        for value in values:
            rule = parse_rule(value, source) if isinstance(value, str) else None
            if rule is None:
                self._warnings.append(
                    f"Ignoring {_as_json(value)} in permissions.{kind} of the {source} settings: it is not a rule."
                )
            else:
                rules.append(rule)
        if kind == "allow" and rules and not self._may_grant(source):
            self._warnings.append(self._untrusted(_entries(len(rules), "permissions.allow"), source))
        else:
            self._rules[kind] += rules

    def _add_folders(self, source: str, value: object) -> None:
        if not isinstance(value, list):
            self._wrong_type(source, "permissions.additionalDirectories", list)
            return
        if value and not self._may_grant(source):
            self._warnings.append(self._untrusted(_entries(len(value), "permissions.additionalDirectories"), source))
            return
        home = self._environment.get("HOME", "")
        for folder in value:
            if not isinstance(folder, str) or not folder or "\0" in folder:
                where = f"permissions.additionalDirectories of the {source} settings"
                self._warnings.append(f"Ignoring {_as_json(folder)} in {where}: it is not a folder.")
                continue
            at_home = home and (folder == "~" or folder.startswith("~/"))
            self._folders.append(os.path.realpath(home + folder[1:] if at_home else self._cwd / folder))

    def _add_mode(self, source: str, value: object) -> None:
        if value not in MODES:
            listed = ", ".join(MODES)
            self._warnings.append(
                f"Ignoring defaultMode {_as_json(value)} of the {source} settings: not one of {listed}."
            )
        elif not self._may_grant(source):
            self._warnings.append(self._untrusted(f"defaultMode {value}", source))
        else:
            self._default_mode = value
            bypasses = value == "bypassPermissions"
            self._mode_setting = f"defaultMode {value} in {self._files[source]}" if bypasses else None

    def _add_variables(self, source: str, value: object) -> None:
        if not isinstance(value, dict):
            self._wrong_type(source, "env", dict)
            return
        for name, variable in value.items():
            content = _as_json(variable) if isinstance(variable, bool | int | float) else variable
            if not isinstance(content, str) or not name or "=" in name or "\0" in name + content:
                self._warnings.append(
                    f"Ignoring the variable {_as_json(name)} of the {source} settings: no environment can hold it."
                )
            else:
                self._variables[name] = content

    def _add_skip(self, source: str, value: object) -> None:
        if value is not True:
            return
        self._skip_setting = f"dangerouslySkipPermissions in {self._files[source]}"

    def _may_grant(self, source: str) -> bool:
        """Return whether a source may do more than restrict: what a repository ships only if it is trusted."""
        is_shipped = source == "project" or (source == "local" and self._is_local_shipped)
        return not is_shipped or self._is_trusted

    @cached_property
    def _is_trusted(self) -> bool:
        return trust.are_settings_trusted(self._cwd, self._environment, self._config_folder)

    @cached_property
    def _is_local_shipped(self) -> bool:
        return trust.is_local_file_shipped(self._cwd)

    def _untrusted(self, what: str, source: str) -> str:
        name = Path(self._files[source]).name
        return (
            f"Ignoring {what} from .claude/{name}: this workspace has not been trusted."
            f" If you trust it, run `bridle trust`, set {TRUST_VARIABLE}=1, or set projects[{_as_json(str(self._cwd))}]"
            f".hasTrustDialogAccepted: true in {trust.claude_registers(self._environment, self._config_folder)[-1]}."
        )


def _entries(count: int, key: str) -> str:
    return f"{count} {key} {'entry' if count == 1 else 'entries'}"


def _as_json(value: object) -> str:
    """Encode a value as JSON for one line."""
    return msgspec.json.encode(value).decode()[:100]

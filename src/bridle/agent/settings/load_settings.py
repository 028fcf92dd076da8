"""The settings of a run: those of the user, of the project, of this machine's copy of it, and of the command line.

A file that cannot be used is told in a warning and left out. Nothing here is printed: who starts the run decides
where warnings go.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from bridle.agent.permissions.rules.policy import MODES
from bridle.agent.permissions.rules.syntax import Rule, parse_rule
from bridle.agent.settings.settings_file import is_trusted, read_flag, read_object
from bridle.errors import UsageError

SOURCES: Final = ("user", "project", "local")
TRUST_VARIABLE: Final = "BRIDLE_TRUST_PROJECT"
MANAGED_SETTINGS: Final = Path("/etc/claude-code/managed-settings.json")


_TEXTS: Final = frozenset({"model", "apiKeyHelper"})
_KINDS: Final[dict[type, str]] = {dict: "an object", list: "a list", str: "text"}


class Settings(msgspec.Struct, frozen=True):
    """What all files together say."""

    allow: tuple[Rule, ...] = ()
    deny: tuple[Rule, ...] = ()
    ask: tuple[Rule, ...] = ()
    default_mode: str | None = None
    additional_folders: tuple[str, ...] = ()
    """Resolved."""
    environment: dict[str, str] = {}
    """What commands, and this program, find in the environment besides what is there."""
    model: str | None = None
    api_key_helper: str | None = None
    skips_permissions: bool = False
    """`dangerouslySkipPermissions` of the user's own file; a project cannot give itself everything."""
    hooks: tuple[tuple[str, dict[str, Any]], ...] = ()
    """The `hooks` of each file as they stand, with the file's source, in the order in which they apply."""
    other: dict[str, Any] = {}
    """Every other key; of two files that have it, the later one counts."""
    warnings: tuple[str, ...] = ()
    """What people should know: one line each, for stderr."""
    notes: tuple[str, ...] = ()
    """What only somebody who looks for a fault wants to know, for the debug log."""


def load_settings(
    cwd: Path,
    config_folder: Path,
    sources: Iterable[str] | None = None,
    extra: str | None = None,
    environment: Mapping[str, str] | None = None,
    *,
    managed: Path | None = MANAGED_SETTINGS,
) -> Settings:
    """Read the settings: `sources` as in `--setting-sources` (None: all), `extra` as in `--settings` (a file or JSON).

    Raises UsageError where the command line is wrong; a wrong file is a warning.
    """
    reader = _Reader(cwd, config_folder, environment or {})
    chosen = SOURCES if sources is None else tuple(sources)
    unknown = [source for source in chosen if source not in SOURCES]
    if unknown:
        raise UsageError(f"Invalid setting source: {unknown[0]}. Valid options are: {', '.join(SOURCES)}")
    places = {
        "user": config_folder / "settings.json",
        "project": cwd / ".claude" / "settings.json",
        "local": cwd / ".claude" / "settings.local.json",
    }
    for source in SOURCES:
        if source in chosen:
            reader.take(source, reader.read(places[source]))
    if extra is not None and extra.strip():
        reader.take("settings", read_flag(extra, cwd))
    if managed is not None:
        reader.take("managed", reader.read(managed))
    return reader.settings()


class _Reader:
    """Takes one file's settings after the other."""

    def __init__(self, cwd: Path, config_folder: Path, environment: Mapping[str, str]) -> None:
        self._cwd, self._config_folder, self._environment = cwd, config_folder, environment
        self._rules: dict[str, list[Rule]] = {"allow": [], "deny": [], "ask": []}
        self._folders: list[str] = []
        self._hooks: list[tuple[str, dict[str, Any]]] = []
        self._variables: dict[str, str] = {}
        self._single: dict[str, Any] = {}
        self._other: dict[str, Any] = {}
        self._skips_permissions = False
        self._warnings: list[str] = []
        self._notes: list[str] = []

    def settings(self) -> Settings:
        """Everything that was taken."""
        return Settings(
            allow=tuple(self._rules["allow"]),
            deny=tuple(self._rules["deny"]),
            ask=tuple(self._rules["ask"]),
            default_mode=self._single.get("defaultMode"),
            additional_folders=tuple(dict.fromkeys(self._folders)),
            environment=self._variables,
            model=self._single.get("model"),
            api_key_helper=self._single.get("apiKeyHelper"),
            skips_permissions=self._skips_permissions,
            hooks=tuple(self._hooks),
            other=self._other,
            warnings=tuple(self._warnings),
            notes=tuple(self._notes),
        )

    def read(self, path: Path) -> dict[str, Any]:
        """The object in a file; an empty one if there is no file, or nothing of use in it."""
        try:
            given = read_object(path)
        except ValueError as error:
            self._warnings.append(f"Ignoring {path}: {error}")
            return {}
        if given is None:
            return {}
        self._notes.append(f"settings were read from {path}")
        return given

    def take(self, source: str, given: dict[str, Any]) -> None:
        """Add what one source says to what the sources before it said."""
        for key, value in given.items():
            if key == "permissions":
                self._take_permissions(source, value)
            elif key == "env":
                self._take_variables(source, value)
            elif key == "dangerouslySkipPermissions":
                self._take_skip(source, value)
            elif key == "hooks" and isinstance(value, dict):
                self._hooks.append((source, value))
            elif key in _TEXTS and isinstance(value, str):
                self._single[key] = value
            elif key in _TEXTS or key == "hooks":
                self._misfit(source, key, dict if key == "hooks" else str)
            else:
                self._other[key] = value

    def _misfit(self, source: str, key: str, wanted: type) -> None:
        self._warnings.append(f"Ignoring {key!r} of the {source} settings: it must be {_KINDS[wanted]}.")

    def _take_permissions(self, source: str, value: object) -> None:
        if not isinstance(value, dict):
            self._misfit(source, "permissions", dict)
            return
        for kind in ("allow", "deny", "ask"):
            rules = value.get(kind, [])
            if isinstance(rules, list):
                self._take_rules(source, kind, rules)
            else:
                self._misfit(source, f"permissions.{kind}", list)
        if "additionalDirectories" in value:
            self._take_folders(source, value["additionalDirectories"])
        if "defaultMode" in value:
            self._take_mode(source, value["defaultMode"])

    def _take_rules(self, source: str, kind: str, values: list[object]) -> None:
        rules: list[Rule] = []
        for value in values:
            rule = parse_rule(value, source) if isinstance(value, str) else None
            if rule is None:
                self._warnings.append(
                    f"Ignoring {_shown(value)} in permissions.{kind} of the {source} settings: it is not a rule."
                )
            else:
                rules.append(rule)
        if kind == "allow" and rules and not self._may_give(source):
            self._warnings.append(self._untrusted(len(rules), "permissions.allow"))
        else:
            self._rules[kind] += rules

    def _take_folders(self, source: str, value: object) -> None:
        if not isinstance(value, list):
            self._misfit(source, "permissions.additionalDirectories", list)
            return
        if value and not self._may_give(source):
            self._warnings.append(self._untrusted(len(value), "permissions.additionalDirectories"))
            return
        home = self._environment.get("HOME", "")
        for folder in value:
            if not isinstance(folder, str) or not folder or "\0" in folder:
                where = f"permissions.additionalDirectories of the {source} settings"
                self._warnings.append(f"Ignoring {_shown(folder)} in {where}: it is not a folder.")
                continue
            at_home = home and (folder == "~" or folder.startswith("~/"))
            self._folders.append(os.path.realpath(home + folder[1:] if at_home else self._cwd / folder))

    def _take_mode(self, source: str, value: object) -> None:
        if value not in MODES:
            listed = ", ".join(MODES)
            self._warnings.append(
                f"Ignoring defaultMode {_shown(value)} of the {source} settings: not one of {listed}."
            )
        elif value == "bypassPermissions" and not self._may_give(source):
            self._warnings.append(
                "Ignoring defaultMode bypassPermissions of .claude/settings.json: a project that is not trusted cannot"
                " set it."
            )
        else:
            self._single["defaultMode"] = value

    def _take_variables(self, source: str, value: object) -> None:
        if not isinstance(value, dict):
            self._misfit(source, "env", dict)
            return
        for name, given in value.items():
            content = _shown(given) if isinstance(given, bool | int | float) else given
            if not isinstance(content, str) or not name or "=" in name or "\0" in name + content:
                self._warnings.append(
                    f"Ignoring the variable {_shown(name)} of the {source} settings: no environment can hold it."
                )
            else:
                self._variables[name] = content

    def _take_skip(self, source: str, value: object) -> None:
        if value is not True:
            return
        if source == "user":
            self._skips_permissions = True
        else:
            self._warnings.append(
                f"Ignoring dangerouslySkipPermissions of the {source} settings: only your own settings.json can set it."
            )

    def _may_give(self, source: str) -> bool:
        """Whether a source may give permissions: a project that came from elsewhere only if it is trusted."""
        return source != "project" or self._is_trusted()

    def _is_trusted(self) -> bool:
        if self._environment.get(TRUST_VARIABLE) == "1":
            return True
        return any(is_trusted(register, str(self._cwd)) for register in self._registers())

    def _registers(self) -> tuple[Path, ...]:
        """Where it is written down which folders are trusted: in the folder of settings, or beside the usual one."""
        home = self._environment.get("HOME")
        usual = home and not self._environment.get("CLAUDE_CONFIG_DIR")
        inside = self._config_folder / ".claude.json"
        return (inside, Path(home) / ".claude.json") if home and usual else (inside,)

    def _untrusted(self, count: int, what: str) -> str:
        entries = "entry" if count == 1 else "entries"
        return (
            f"Ignoring {count} {what} {entries} from .claude/settings.json: this workspace has not been trusted."
            f" If you trust it, set {TRUST_VARIABLE}=1, or set projects[{_shown(str(self._cwd))}]"
            f".hasTrustDialogAccepted: true in {self._registers()[-1]}."
        )


def _shown(value: object) -> str:
    """A value as JSON, short enough for one line."""
    return msgspec.json.encode(value).decode()[:100]

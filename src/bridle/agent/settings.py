"""The settings of a run: those of the user, of the project, of this machine's copy of it, and of the command line.

A file that cannot be used is told in a warning and left out. Nothing here is printed: who starts the run decides
where warnings go.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from bridle.agent.permissions.policy import MODES
from bridle.agent.permissions.rules import Rule, parse_rule
from bridle.errors import UsageError

SOURCES: Final = ("user", "project", "local")
TRUST_VARIABLE: Final = "BRIDLE_TRUST_PROJECT"
MANAGED_SETTINGS: Final = Path("/etc/claude-code/managed-settings.json")

# People write a few kilobytes. A larger file is no settings file, and reading it would hold up every start.
SETTINGS_LIMIT_BYTES: Final = 4 * 1024 * 1024
# The register of projects grows with each project a person opens.
REGISTER_LIMIT_BYTES: Final = 64 * 1024 * 1024


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
    """What only somebody who looks for a fault should know, for the debug log."""


def load(
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
        reader.take("settings", _extra(extra, cwd))
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
            data = _bounded(path, SETTINGS_LIMIT_BYTES)
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            self._warnings.append(f"Ignoring {path}: {_cause(error)}")
            return {}
        if not data.strip():
            return {}
        try:
            return _parse(data)
        except ValueError as error:
            self._warnings.append(f"Ignoring {path}: {error}")
            return {}

    def take(self, source: str, given: dict[str, Any]) -> None:
        """Add what one source says to what the sources before it said."""
        for key, value in given.items():
            if key == "permissions":
                self._take_permissions(source, value)
            elif key == "env":
                self._take_variables(source, value)
            elif key == "hooks":
                if self._fits(source, key, value, dict):
                    self._hooks.append((source, value))
            elif key in ("model", "apiKeyHelper"):
                if self._fits(source, key, value, str):
                    self._single[key] = value
            elif key == "dangerouslySkipPermissions":
                self._take_skip(source, value)
            else:
                self._other[key] = value

    def _fits(self, source: str, key: str, value: object, kind: type) -> bool:
        if isinstance(value, kind):
            return True
        self._warnings.append(f"Ignoring {key!r} of the {source} settings: it must be {_KINDS[kind]}.")
        return False

    def _take_permissions(self, source: str, value: object) -> None:
        if not self._fits(source, "permissions", value, dict):
            return
        assert isinstance(value, dict)  # noqa: S101  # the line above says so; this tells the type checker
        for kind in ("allow", "deny", "ask"):
            if kind in value and self._fits(source, f"permissions.{kind}", value[kind], list):
                self._take_rules(source, kind, value[kind])
        if "additionalDirectories" in value:
            self._take_folders(source, value["additionalDirectories"])
        if "defaultMode" in value:
            self._take_mode(source, value["defaultMode"])

    def _take_rules(self, source: str, kind: str, values: list[object]) -> None:
        rules: list[Rule] = []
        for value in values:
            rule = parse_rule(value, source) if isinstance(value, str) else None
            if rule is None:
                shown = _shown(value)
                self._warnings.append(f"Ignoring {shown} in permissions.{kind} of the {source} settings: not a rule.")
            else:
                rules.append(rule)
        if kind == "allow" and rules and source == "project" and not self._is_trusted():
            self._warnings.append(self._untrusted(len(rules)))
            return
        self._rules[kind] += rules

    def _take_folders(self, source: str, value: object) -> None:
        if not self._fits(source, "permissions.additionalDirectories", value, list):
            return
        assert isinstance(value, list)  # noqa: S101  # the line above says so; this tells the type checker
        if source == "project" and not self._is_trusted():
            self._notes.append("additionalDirectories of .claude/settings.json: not used, the workspace is not trusted")
            return
        home = self._environment.get("HOME", "")
        for folder in value:
            if isinstance(folder, str) and folder and "\0" not in folder:
                if home and (folder == "~" or folder.startswith("~/")):
                    folder = home + folder[1:]
                self._folders.append(os.path.realpath(self._cwd / folder))

    def _take_mode(self, source: str, value: object) -> None:
        if value not in MODES:
            shown = _shown(value)
            self._warnings.append(
                f"Ignoring defaultMode {shown} of the {source} settings: not one of {', '.join(MODES)}."
            )
        elif value == "bypassPermissions" and source == "project":
            self._warnings.append(
                "Ignoring defaultMode bypassPermissions of .claude/settings.json: a project cannot set it."
            )
        else:
            self._single["defaultMode"] = value

    def _take_variables(self, source: str, value: object) -> None:
        if not self._fits(source, "env", value, dict):
            return
        assert isinstance(value, dict)  # noqa: S101  # the line above says so; this tells the type checker
        for name, content in value.items():
            if isinstance(content, bool | int | float):
                content = _shown(content)
            if not isinstance(content, str) or not name or "=" in name or "\0" in name + content:
                self._warnings.append(
                    f"Ignoring the variable {name[:100]!r} of the {source} settings: no environment can hold it."
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

    def _is_trusted(self) -> bool:
        if self._environment.get(TRUST_VARIABLE) == "1":
            return True
        try:
            register = _parse(_bounded(self._config_folder / ".claude.json", REGISTER_LIMIT_BYTES))
            project = register["projects"][str(self._cwd)]
            return project["hasTrustDialogAccepted"] is True
        except (OSError, ValueError, KeyError, TypeError):
            return False

    def _untrusted(self, count: int) -> str:
        entries = "entry" if count == 1 else "entries"
        register = self._config_folder / ".claude.json"
        return (
            f"Ignoring {count} permissions.allow {entries} from .claude/settings.json: this workspace has not been"
            f" trusted. Set {TRUST_VARIABLE}=1 if you trust it, or"
            f" projects[{_shown(str(self._cwd))}].hasTrustDialogAccepted: true in {register}."
        )


def _extra(text: str, cwd: Path) -> dict[str, Any]:
    """The settings of the flag: JSON, or the name of a file."""
    if text.lstrip().startswith("{"):
        try:
            return _parse(text.encode("utf-8", "surrogateescape"))
        except ValueError as error:
            raise UsageError(f"Invalid JSON provided to --settings: {error}") from None
    path = cwd / text
    try:
        return _parse(_bounded(path, SETTINGS_LIMIT_BYTES))
    except FileNotFoundError:
        raise UsageError(f"Settings file not found: {path}") from None
    except OSError as error:
        raise UsageError(f"Settings file cannot be read: {path}: {_cause(error)}") from None
    except ValueError as error:
        raise UsageError(f"Settings file cannot be used: {path}: {error}") from None


def _bounded(path: Path, limit_bytes: int) -> bytes:
    """The bytes of a plain file; a pipe would wait for ever, a huge file would fill the memory."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    with open(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise ValueError("not a file")
        data = file.read(limit_bytes + 1)
    if len(data) > limit_bytes:
        raise ValueError(f"larger than {limit_bytes // (1024 * 1024)} MB")
    return data


def _parse(data: bytes) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf"))
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"not valid JSON ({error})") from None
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    return value


def _cause(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _shown(value: object) -> str:
    """A value as JSON, short enough for one line."""
    return msgspec.json.encode(value).decode()[:100]

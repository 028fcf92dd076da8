"""Settings from flags and from the `bridle.toml` files of the repository and of the user.

Precedence: a flag, then the repository's file, then the user's file, then the default. A list replaces a list.
"""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from bridle.errors import DiskError, SettingsError
from bridle.ground import disk, trust
from bridle.ground.git_folder import folders_up_to_top
from bridle.loop.settings.model import KEYS, Settings
from bridle.loop.settings.prompt_template import find_template
from bridle.loop.settings.value_kinds import near, shown

FILE_NAME = "bridle.toml"
SCHEMA_KEY = "$schema"
"""The schema of the file, for editors."""
# Users write a kilobyte or two. A larger file is another one by mistake.
LIMIT_BYTES = 256 * 1024
_STATEMENT = re.compile(r"""\s*(?:\[\[?\s*)?("(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_-]+)""")

# The tables of a file: `[sandbox]`.
_TABLES = frozenset(name.partition(".")[0] for name in KEYS if "." in name)

# Values by key, each of its key's kind.
Values: TypeAlias = dict[str, Any]


def load_settings(cwd: Path, home: Path, flags: Mapping[str, object] | None = None) -> Settings:
    """Load the settings for a folder. Flags go by the names of the keys; None means not given.

    Raises SettingsError with every problem of all sources.
    """
    files = [(home / FILE_NAME, False)]
    repository_file = find_file(cwd)
    if repository_file is not None and repository_file.resolve() != files[0][0].resolve():
        files.append((repository_file, True))
    chosen: Values = {}
    problems: list[str] = []
    ignored = ""
    for path, is_repository in files:
        values, file_problems = _read_file(path, is_repository=is_repository)
        if is_repository and (untrusted := _untrusted(values, chosen, path, home)):
            values = {name: value for name, value in values.items() if name not in untrusted}
            ignored = (
                f"{', '.join(untrusted)} of {path} count only after you have agreed to the file: "
                f"cd {shlex.quote(str(path.parent))} && bridle trust"
            )
        chosen |= values
        problems += file_problems
    values, flag_problems = _read_flag_values(flags or {})
    chosen |= values
    _refuse([*problems, *flag_problems])
    template, untrusted_template = find_template(cwd, home)
    by_attribute = {KEYS[name].attribute: value for name, value in chosen.items()}
    return Settings(
        **by_attribute,
        chosen=tuple(name for name in KEYS if name in chosen),
        template=template,
        ignored="; ".join(filter(None, (ignored, untrusted_template))),
    )


def _untrusted(values: Values, own: Values, path: Path, home: Path) -> list[str]:
    """Return the keys of a repository's file that do more than the user's own values, if the file is not trusted."""
    found = [name for name, value in values.items() if KEYS[name].needs_trust(value, own.get(name, KEYS[name].default))]
    return found if found and not trust.is_trusted(path.parent, home, trust.LOOP) else []


def read_flags(flags: Mapping[str, object]) -> Values:
    """Read flags alone, by the fields of `Settings`. Raises SettingsError with every problem."""
    values, problems = _read_flag_values(flags)
    _refuse(problems)
    return {KEYS[name].attribute: value for name, value in values.items()}


def find_file(cwd: Path) -> Path | None:
    """Return the nearest `bridle.toml` from a folder up to the top of its repository."""
    for folder in folders_up_to_top(cwd.resolve()):
        if (folder / FILE_NAME).exists():
            return folder / FILE_NAME
    return None


def read_text(text: str, path: Path, *, is_repository: bool) -> tuple[Values, list[str]]:
    """Read a file's text. Return the valid values by key, and the problems with file and line."""
    try:
        values = _flat(tomllib.loads(text))
    except ValueError as error:  # also a number with too many digits
        return {}, [_syntax_problem(path, str(error))]
    except RecursionError:
        return {}, [f"{path}: the tables are nested too deeply"]
    return _read_values(
        values, lambda name: f"{path}:{line_of(text, _table_of(name))}: {name}", is_repository=is_repository
    )


def line_of(text: str, name: str) -> int:
    """Return the line of a TOML text that sets a top-level key or opens its table; 0 if none does.

    A line begins a statement exactly where the text above it is valid TOML. The standard library's parser reports no
    lines for values.
    """
    lines = text.splitlines(keepends=True) if "\n" in text else [text]
    for index, line in enumerate(lines):
        statement = _STATEMENT.match(line)
        if statement and _unquote(statement[1]) == name and _is_toml("".join(lines[:index])):
            return index + 1
    return 0


def _read_file(path: Path, *, is_repository: bool) -> tuple[Values, list[str]]:
    try:
        data = disk.read_if_exists(path, LIMIT_BYTES)
        if data is None:
            return {}, []
        text = data.decode("utf-8-sig")
    except DiskError as error:
        return {}, [error.message]
    except UnicodeDecodeError as error:
        return {}, [f"{path} is not UTF-8 (byte {error.start}). Save it as UTF-8."]
    return read_text(text, path, is_repository=is_repository)


def _table_of(name: str) -> str:
    return name.partition(".")[0]


def _flat(values: Mapping[str, object]) -> dict[str, object]:
    """Return the values with those in a known table under `table.key`."""
    flat: dict[str, object] = {}
    for name, value in values.items():
        if name == SCHEMA_KEY:
            continue
        if name in _TABLES and isinstance(value, dict):
            flat |= {f"{name}.{key}": member for key, member in value.items()}
        else:
            flat[name] = value
    return flat


def _read_flag_values(flags: Mapping[str, object]) -> tuple[Values, list[str]]:
    present = {name: value for name, value in flags.items() if value is not None}
    return _read_values(present, lambda name: f"--{name.replace('_', '-')}", is_repository=False)


def _read_values(
    values: Mapping[str, object], describe: Callable[[str], str], *, is_repository: bool
) -> tuple[Values, list[str]]:
    """Read each value by its key's kind; `describe` names a key, with its place, in a problem."""
    valid: Values = {}
    problems = []
    for name, value in values.items():
        try:
            valid[name] = _read_value(name, value, is_repository=is_repository)
        except ValueError as error:
            # A key of a file may have any character; a terminal would execute some.
            problems.append(f"{describe(name)} {error}".replace(name, name if name.isprintable() else ascii(name)))
    return valid, problems


def _read_value(name: str, value: object, *, is_repository: bool) -> Any:
    key = KEYS.get(name)
    if key is None and name in _TABLES:
        raise ValueError(f"must be a table, got {shown(value)}")
    if key is None:
        raise ValueError(f"is not a setting{near(name, tuple(KEYS))}")
    if is_repository and key.is_personal:
        raise ValueError(f"must not be set in a repository. Set it in your own {FILE_NAME}")
    try:
        read = key.kind.read(value)
    except ValueError as error:
        raise ValueError(f"must be {key.kind.expected}, {error}") from error
    if is_repository and read in key.not_in_repository:
        raise ValueError(f"must not be {value!r} in a repository. Set it in your own {FILE_NAME}")
    return read


def _syntax_problem(path: Path, message: str) -> str:
    """Format the TOML parser's message, with the line after the path as in our own."""
    parts = re.fullmatch(r"(?s)(.*?) \(at line (\d+), column (\d+)\)", message)
    if parts:
        return f"{path}:{parts[2]}: {parts[1]} (column {parts[3]})"
    return f"{path}: {message}"


def _refuse(problems: Sequence[str]) -> None:
    if problems:
        head = "invalid settings" if len(problems) > 1 else "invalid setting"
        listed = "".join(f"\n  {problem}" for problem in problems)
        raise SettingsError(
            f"{head}:{listed}", remedy="`bridle help settings` lists every key and its values.", payload=list(problems)
        )


def _unquote(key: str) -> str:
    if key[0] in "\"'":
        return str(next(iter(tomllib.loads(f"{key} = 0"))))
    return key


def _is_toml(text: str) -> bool:
    try:
        tomllib.loads(text)
    except (ValueError, RecursionError):
        return False
    return True

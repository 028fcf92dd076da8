"""`bridle.toml`, the repository's and the person's own, and the flags that stand in its place.

The nearest one wins: a flag, then the repository, then the person's file, then the default. A list replaces a list.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bridle.errors import DiskError, SettingsError
from bridle.ground import disk
from bridle.ground.git_folder import folders_up_to_top
from bridle.loop.settings.model import KEYS, Settings
from bridle.loop.settings.value_kinds import near

FILE_NAME = "bridle.toml"
# People write a kilobyte or two. A larger file is another one by mistake.
LIMIT_BYTES = 256 * 1024
_STATEMENT = re.compile(r"""\s*(?:\[\[?\s*)?("(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_-]+)""")


def load_settings(cwd: Path, home: Path, flags: Mapping[str, object] | None = None) -> Settings:
    """Flags by the names of the keys (None: not given), the repository's file, the person's own, the defaults.

    Raises SettingsError with every problem of all of them.
    """
    files = [(home / FILE_NAME, False)]
    found = find_file(cwd)
    if found is not None and found.resolve() != files[0][0].resolve():
        files.append((found, True))
    chosen: dict[str, Any] = {}
    problems: list[str] = []
    for path, is_repository in files:
        values, wrong = _read_file(path, is_repository=is_repository)
        chosen |= values
        problems += wrong
    given = {name: value for name, value in (flags or {}).items() if value is not None}
    values, wrong = _read_values(given, "--{}", is_repository=False)
    chosen |= values
    _refuse([*problems, *wrong])
    by_attribute = {KEYS[name].attribute: value for name, value in chosen.items()}
    return Settings(**by_attribute, chosen=tuple(name for name in KEYS if name in chosen))


def read_flags(flags: Mapping[str, object]) -> dict[str, Any]:
    """What these flags say, by the settings that they are; SettingsError where one says nothing that can be."""
    given = {name: value for name, value in flags.items() if value is not None}
    values, wrong = _read_values(given, "--{}", is_repository=False)
    _refuse(wrong)
    return {KEYS[name].attribute: value for name, value in values.items()}


def find_file(cwd: Path) -> Path | None:
    """The nearest `bridle.toml` from a folder up to the top of its repository."""
    for folder in folders_up_to_top(cwd.resolve()):
        if (folder / FILE_NAME).exists():
            return folder / FILE_NAME
    return None


def _read_file(path: Path, *, is_repository: bool) -> tuple[dict[str, Any], list[str]]:
    """The values of one file, and what is wrong with the others."""
    try:
        data = disk.read_if_exists(path, LIMIT_BYTES)
        if data is None:
            return {}, []
        text = data.decode("utf-8-sig")
    except DiskError as error:
        return {}, [error.message]
    except UnicodeDecodeError as error:
        return {}, [f"{path}: it is not UTF-8 (byte {error.start}); save it as UTF-8"]
    return read_text(text, path, is_repository=is_repository)


def read_text(text: str, path: Path, *, is_repository: bool) -> tuple[dict[str, Any], list[str]]:
    """The values of a file's text by their keys, and what is wrong with the others, with file and line."""
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return {}, [_syntax(path, str(error))]
    except RecursionError:
        return {}, [f"{path}: it is nested too deeply"]
    return _read_values(values, f"{path}:{{line}}: {{}}", is_repository=is_repository, text=text)


def _read_values(
    values: Mapping[str, object], place: str, *, is_repository: bool, text: str = ""
) -> tuple[dict[str, Any], list[str]]:
    """Each value by its kind; `place` says where a name stands."""
    read: dict[str, Any] = {}
    problems = []
    for name, value in values.items():
        try:
            read[name] = _read_one(name, value, is_repository=is_repository)
        except ValueError as error:
            where = place.format(name if text else name.replace("_", "-"), line=line_of(text, name))
            problems.append(f"{where}: {error}" if not text else f"{where} {error}")
    return read, problems


def _read_one(name: str, value: object, *, is_repository: bool) -> Any:
    key = KEYS.get(name)
    if key is None:
        raise ValueError(f"is no setting{near(name, tuple(KEYS))}")
    try:
        read = key.kind.read(value)
    except ValueError as error:
        raise ValueError(f"must be {key.kind.words}: {error}") from error
    if is_repository and read in key.not_in_repository:
        raise ValueError(f"may be {value!r} only by a flag or in your own {FILE_NAME}, not by a repository's")
    return read


def _syntax(path: Path, words: str) -> str:
    """What the TOML reader says, with its line where ours stand."""
    found = re.fullmatch(r"(?s)(.*?) \(at line (\d+), column (\d+)\)", words)
    if found:
        return f"{path}:{found[2]}: {found[1]} (column {found[3]})"
    return f"{path}: {words}"


def _refuse(problems: Sequence[str]) -> None:
    if problems:
        head = "the settings cannot be used" if len(problems) > 1 else "a setting cannot be used"
        listed = "".join(f"\n  {problem}" for problem in problems)
        raise SettingsError(f"{head}:{listed}", remedy="docs/settings.md lists every key.", payload=list(problems))


def line_of(text: str, name: str) -> int:
    """The first line that begins a statement about that key, or its table; 0 where none does.

    A line begins a statement exactly where all that stands before it is whole by itself.
    """
    lines = text.splitlines(keepends=True) if "\n" in text else [text]
    for index, line in enumerate(lines):
        found = _STATEMENT.match(line)
        if found and _plain(found[1]) == name and _is_whole("".join(lines[:index])):
            return index + 1
    return 0


def _plain(key: str) -> str:
    if key[0] in "\"'":
        return str(next(iter(tomllib.loads(f"{key} = 0"))))
    return key


def _is_whole(text: str) -> bool:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True

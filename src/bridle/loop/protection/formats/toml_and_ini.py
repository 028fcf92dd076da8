"""Restores tables of TOML files and sections of INI files that configure a check. Pure.

Names are those of tables (`tool.pytest` with its subtables) and of sections (`tool:pytest`; `mypy*` for several).
"""

from __future__ import annotations

import configparser
import re
import tomllib
from collections.abc import Callable, Collection, Mapping
from typing import Any

from bridle.loop.protection.formats import named_blocks
from bridle.loop.protection.formats.named_blocks import Block
from bridle.loop.protection.protected_parts import TOO_DEEP, Restored

# New settings of a test runner or linter may not have these keys, which choose what is tested.
CHOOSING = frozenset(
    {"addopts", "collect_imported_tests", "norecursedirs", "python_classes", "python_files", "python_functions"}
    | {"required_plugins", "testpaths", "usefixtures"}
    | {"disable", "disable_error_code", "exclude", "exclude_also", "extend-exclude", "extend-ignore", "extend_exclude"}
    | {"extend-per-file-ignores", "fail_under", "files", "force-exclude", "ignore", "ignore-paths", "ignore_errors"}
    | {"ignore_missing_imports", "include", "omit", "per-file-ignores", "select", "skip", "skips", "tests"}
)

_HEADER = re.compile(r"[ \t]*\[\[?[ \t]*([^\[\]\n]+?)[ \t]*\]\]?[ \t]*(?:#.*)?$")

Load = Callable[[str], dict[str, Any]]


def restore_toml(
    origin: str | None, current: str, names: Collection[str], *, is_optional: bool = False
) -> Restored | None:
    """Return the current text with the original tables of these names."""
    return _restore(load_toml, origin, current, names, is_optional=is_optional)


def restore_ini(
    origin: str | None, current: str, names: Collection[str], *, is_optional: bool = False
) -> Restored | None:
    """Return the current text with the original sections of these names."""
    return _restore(load_ini, origin, current, names, is_optional=is_optional)


def load_toml(text: str) -> dict[str, Any]:
    """Return every table by its dotted name. Raises ValueError for invalid TOML."""
    try:
        tables: dict[str, Any] = {}
        _flatten(tomllib.loads(text.removeprefix("\ufeff")), "", tables)
    except TOO_DEEP as error:
        raise ValueError("it is nested too deeply") from error
    return tables


def load_ini(text: str) -> dict[str, Any]:
    """Return every section by its name. Raises ValueError for an invalid INI file."""
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
    try:
        parser.read_string(text.removeprefix("\ufeff"))
    except configparser.Error as error:
        raise ValueError(str(error).splitlines()[0]) from error
    except AttributeError as error:  # that is how Python 3.11 to 3.13 refuse it
        raise ValueError("a key without a value is followed by an indented line") from error
    return {name: dict(parser.items(name)) for name in parser.sections()}


def has(load: Load, text: str, names: Collection[str]) -> bool:
    """Return whether a text has anything under these names; an invalid text has not."""
    try:
        return bool(_under(load(text), names))
    except ValueError:
        return False


def _restore(
    load: Load, origin: str | None, current: str, names: Collection[str], *, is_optional: bool
) -> Restored | None:
    before = _under(load(origin), names) if origin is not None else {}
    try:
        after = _under(load(current), names)
    except ValueError as error:
        if is_optional:
            return None  # there was nothing to protect, and runners cannot read it
        return Restored(origin, (f"it can no longer be read: {error}",), is_whole=True)
    if before == after or (is_optional and not before and not _keys(after) & CHOOSING):
        return None
    what = tuple(f"[{name}] was {_change(name in before, name in after)}" for name in _differing(before, after))
    restored = named_blocks.restore(lambda text: _read(text, names), origin or "", current, names)
    text = restored.text if restored is not None else None
    if text is not None and _is_restored(load, text, names, before):
        return Restored(text if text.strip() or origin is not None else None, what)
    return Restored(origin, what, is_whole=True)


def _is_restored(load: Load, text: str, names: Collection[str], before: Mapping[str, Any]) -> bool:
    try:
        return _under(load(text), names) == before
    except ValueError:
        return False


def _read(text: str, names: Collection[str]) -> list[Block]:
    """Return one block for each header with the lines below it."""
    parts: list[tuple[str | None, list[str]]] = [(None, [])]
    for line in text.splitlines(keepends=True):
        header = _HEADER.match(line.rstrip("\r\n"))
        if header is not None:
            parts.append((_plain(header[1]), []))
        parts[-1][1].append(line)
    blocks = []
    for name, lines in parts:
        body = "".join(lines)
        own = next((wanted for wanted in names if name is not None and _is_under(name, wanted)), None)
        blocks.append(Block(body, {own: body.strip()} if own is not None else {}))
    return blocks


def _plain(header: str) -> str:
    """Return a header without insignificant quotes and spaces."""
    return ".".join(part.strip().strip("\"'") for part in header.split("."))


def _is_under(name: str, wanted: str) -> bool:
    return name == wanted or name.startswith(wanted[:-1] if wanted.endswith("*") else f"{wanted}.")


def _under(document: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if any(_is_under(name, wanted) for wanted in names)}


def _flatten(value: Mapping[str, Any], name: str, tables: dict[str, Any]) -> None:
    own = {}
    for key, member in value.items():
        if isinstance(member, dict):
            _flatten(member, f"{name}.{key}" if name else key, tables)
        else:
            own[key] = member
    if own or (name and not value):
        tables[name] = own


def _keys(tables: Mapping[str, Mapping[str, Any]]) -> set[str]:
    return {key for table in tables.values() for key in table}


def _differing(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    return sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))


def _change(was: bool, is_there: bool) -> str:  # noqa: FBT001  # before and after
    return "added" if not was else "changed" if is_there else "removed"

"""Tables of TOML files and sections of INI files that configure a check, put back as text. Pure.

Names are those of tables (`tool.pytest`, with all below it) and of sections (`tool:pytest`; `mypy*` for several).
"""

from __future__ import annotations

import configparser
import re
import tomllib
from collections.abc import Callable, Collection, Mapping
from typing import Any

from bridle.loop.protection.formats import named_blocks
from bridle.loop.protection.formats.named_blocks import Block
from bridle.loop.protection.protected_parts import Restored

# Where a test runner had no settings of its own, one may be added; but not what chooses the tests, or runs none.
CHOOSING = frozenset(
    {
        "addopts",
        "collect_imported_tests",
        "norecursedirs",
        "python_classes",
        "python_files",
        "python_functions",
        "testpaths",
        "usefixtures",
    }
)

_HEADER = re.compile(r"[ \t]*\[\[?[ \t]*([^\[\]\n]+?)[ \t]*\]\]?[ \t]*(?:#.*)?$")

Load = Callable[[str], dict[str, Any]]


def mend_toml(
    origin: str | None, current: str, names: Collection[str], *, is_optional: bool = False
) -> Restored | None:
    """The current text with these tables as they were."""
    return _mend(load_toml, origin, current, names, is_optional=is_optional)


def mend_ini(origin: str | None, current: str, names: Collection[str], *, is_optional: bool = False) -> Restored | None:
    """The current text with these sections as they were."""
    return _mend(load_ini, origin, current, names, is_optional=is_optional)


def load_toml(text: str) -> dict[str, Any]:
    """Every table by its dotted name, and what is in it; ValueError where the text is no TOML."""
    try:
        document = tomllib.loads(text.removeprefix("\ufeff"))
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    found: dict[str, Any] = {}
    _flatten(document, "", found)
    return found


def load_ini(text: str) -> dict[str, Any]:
    """Every section and what is in it; ValueError where the text is no INI file."""
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
    try:
        parser.read_string(text.removeprefix("\ufeff"))
    except configparser.Error as error:
        raise ValueError(str(error).splitlines()[0]) from error
    return {name: dict(parser.items(name)) for name in parser.sections()}


def has(load: Load, text: str, names: Collection[str]) -> bool:
    """Whether a text has something under these names; not where it cannot be read."""
    try:
        return bool(_under(load(text), names))
    except ValueError:
        return False


def _mend(
    load: Load, origin: str | None, current: str, names: Collection[str], *, is_optional: bool
) -> Restored | None:
    before = _under(load(origin), names) if origin is not None else {}
    try:
        after = _under(load(current), names)
    except ValueError as error:
        if is_optional:
            return None  # there was nothing to protect, and nothing can be read from it
        return Restored(origin, (f"it can no longer be read: {error}",), is_whole=True)
    if before == after or (is_optional and not before and not _keys(after) & CHOOSING):
        return None
    what = tuple(f"[{name}] was {_deed(name in before, name in after)}" for name in _differing(before, after))
    made = named_blocks.mend(lambda text: _read(text, names), origin or "", current, names)
    text = made.text if made is not None else None
    if text is not None and _is_restored(load, text, names, before):
        return Restored(text if text.strip() or origin is not None else None, what)
    return Restored(origin, what, is_whole=True)


def _is_restored(load: Load, text: str, names: Collection[str], before: Mapping[str, Any]) -> bool:
    try:
        return _under(load(text), names) == before
    except ValueError:
        return False


def _read(text: str, names: Collection[str]) -> list[Block]:
    """One block for each header with what follows it."""
    found: list[tuple[str | None, list[str]]] = [(None, [])]
    for line in text.splitlines(keepends=True):
        header = _HEADER.match(line.rstrip("\r\n"))
        if header is not None:
            found.append((_plain(header[1]), []))
        found[-1][1].append(line)
    made = []
    for name, lines in found:
        body = "".join(lines)
        own = next((one for one in names if name is not None and _is_under(name, one)), None)
        made.append(Block(body, {own: body.strip()} if own is not None else {}))
    return made


def _plain(header: str) -> str:
    """A header without the quotes and spaces that change nothing."""
    return ".".join(part.strip().strip("\"'") for part in header.split("."))


def _is_under(name: str, wanted: str) -> bool:
    return name == wanted or name.startswith(wanted[:-1] if wanted.endswith("*") else f"{wanted}.")


def _under(document: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if any(_is_under(name, wanted) for wanted in names)}


def _flatten(value: Mapping[str, Any], name: str, found: dict[str, Any]) -> None:
    own = {}
    for key, one in value.items():
        if isinstance(one, dict):
            _flatten(one, f"{name}.{key}" if name else key, found)
        else:
            own[key] = one
    if own or (name and not value):
        found[name] = own


def _keys(tables: Mapping[str, Mapping[str, Any]]) -> set[str]:
    return {key for table in tables.values() for key in table}


def _differing(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    return sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))


def _deed(was: bool, is_there: bool) -> str:  # noqa: FBT001  # two plain facts, in the order of time
    return "added" if not was else "changed" if is_there else "removed"

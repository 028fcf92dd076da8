"""Restores scripts and runner settings of package.json as text, so that every other byte stays. Pure.

Names are `scripts.test` for a script, and the key for anything else.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any

from bridle.loop.protection.protected_parts import TOO_DEEP, Restored
from bridle.loop.text.json_spans import member_spans

FILE_NAME = "package.json"
SCRIPTS = "scripts"


def scripts(text: str) -> dict[str, str]:
    """Return the scripts of a file; invalid JSON has none."""
    try:
        value = _load(text).get(SCRIPTS)
    except ValueError:
        return {}
    return {str(name): line for name, line in value.items() if isinstance(line, str)} if isinstance(value, dict) else {}


def keys(text: str) -> frozenset[str]:
    """Return the top-level keys of a file; invalid JSON has none."""
    try:
        return frozenset(_load(text))
    except ValueError:
        return frozenset()


def restore(origin: str, current: str, names: Collection[str]) -> Restored | None:
    """Return the current text with the original scripts and keys of these names."""
    before = _load(origin)
    try:
        after = _load(current)
    except ValueError as error:
        return Restored(origin, (f"it can no longer be read: {error}",), is_whole=True)
    changed = [name for name in sorted(names) if _value(before, name) != _value(after, name)]
    if not changed:
        return None
    what = tuple(f"{name} was {_change(before, after, name)}" for name in changed)
    try:
        text = current
        for name in changed:
            text = _with(text, name, _value(before, name))
        if all(_value(before, name) == _value(_load(text), name) for name in names):
            return Restored(text, what)
    except (ValueError, IndexError):
        pass  # the text cannot be edited member by member
    return Restored(origin, what, is_whole=True)


_MISSING = object()


def _load(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text.removeprefix("\ufeff"))
    except TOO_DEEP as error:
        raise ValueError("it is nested too deeply") from error
    if not isinstance(value, dict):
        raise ValueError("it is not a JSON object")
    return value


def _path(name: str) -> tuple[str, ...]:
    """Split a name into keys. Names of scripts may have dots."""
    head, dot, rest = name.partition(".")
    return (head, rest) if dot and head == SCRIPTS else (name,)


def _value(document: dict[str, Any], name: str) -> Any:
    value: Any = document
    for step in _path(name):
        if not isinstance(value, dict) or step not in value:
            return _MISSING
        value = value[step]
    return value


def _change(before: dict[str, Any], after: dict[str, Any], name: str) -> str:
    if _value(before, name) is _MISSING:
        return "added"
    return "removed" if _value(after, name) is _MISSING else "changed"


def _with(text: str, name: str, value: Any) -> str:
    """Return the text with one value set or removed."""
    *above, last = _path(name)
    start = text.index("{")
    for step in above:
        matching = [span for known, span in member_spans(text, start) if known == step]
        if not matching or text[matching[-1].start] != "{":
            return _with(text, step, {last: value}) if value is not _MISSING else text
        start = matching[-1].start
    members = member_spans(text, start)
    spans = [span for known, span in members if known == last]
    if value is _MISSING:
        return _without(text, start, last)
    if spans:
        return text[: spans[-1].start] + _dump(value, text) + text[spans[-1].end :]
    return _added(text, start, f"{json.dumps(last)}: {_dump(value, text)}", is_empty=not members)


def _without(text: str, start: int, name: str) -> str:
    """Return the text without a member and one comma beside it."""
    members = member_spans(text, start)
    position = next(n for n in range(len(members) - 1, -1, -1) if members[n][0] == name)
    begin = members[position - 1][1].end if position else start + 1
    if position < len(members) - 1:
        return text[:begin] + text[members[position][1].end :].replace(",", "" if not position else ",", 1)
    return text[:begin] + text[members[position][1].end :]


def _added(text: str, start: int, member: str, *, is_empty: bool) -> str:
    """Return the text with a new first member, indented like the previous first one."""
    rest = text[start + 1 :]
    gap = rest[: len(rest) - len(rest.lstrip())]
    return text[: start + 1] + gap + member + ("" if is_empty else ",") + rest


def _dump(value: Any, text: str) -> str:
    indent = "  " if "\n" in text else None
    return json.dumps(value, indent=indent, ensure_ascii=False)


def script_names(name: str) -> Sequence[str]:
    """Return the names of a script and of its pre and post scripts."""
    return (f"{SCRIPTS}.{name}", f"{SCRIPTS}.pre{name}", f"{SCRIPTS}.post{name}")

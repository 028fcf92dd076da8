"""On which line of a TOML text a key of its top table stands; the standard library's reader does not say."""

from __future__ import annotations

import re
import tomllib

_STATEMENT = re.compile(r"""\s*(?:\[\[?\s*)?("(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_-]+)""")


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

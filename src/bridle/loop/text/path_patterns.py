"""Patterns of files below the repository, as in `May edit:` and `protect`.

`*` and `?` stay within one folder, `**` goes through any number of them, and a folder's name means all that is in it.
"""

from __future__ import annotations

import re
from functools import lru_cache

# All patterns of a person's plan and settings, many times over.
_KEPT_PATTERNS = 1024


def checked_pattern(text: str) -> str:
    """The pattern without what changes nothing (`./`); ValueError where it leads out of the repository."""
    pattern = text.strip()
    while pattern.startswith("./"):
        pattern = pattern[2:].lstrip("/")
    if not pattern or pattern == ".":
        raise ValueError(f"{text.strip()!r} names no file")
    if pattern.startswith(("/", "~")) or re.match(r"[A-Za-z]:[\\/]", pattern):
        raise ValueError(f"{pattern!r} is not below the repository")
    if ".." in re.split(r"[\\/]", pattern):
        raise ValueError(f"{pattern!r} leads out of the repository")
    return pattern


def matches(pattern: str, path: str) -> bool:
    """Whether a file, named from the repository's top with slashes, is one that the pattern means."""
    return _compiled(pattern).fullmatch(path) is not None


@lru_cache(maxsize=_KEPT_PATTERNS)
def _compiled(pattern: str) -> re.Pattern[str]:
    parts = [part for part in pattern.split("/") if part]
    # Several in a row mean what one means, and take far longer.
    parts = [part for index, part in enumerate(parts) if part != "**" or parts[index - 1 : index] != ["**"]]
    source = ""
    for index, part in enumerate(parts):
        is_last = index == len(parts) - 1
        if part == "**":
            source += ".*" if is_last else "(?:[^/]+/)*"
        else:
            source += _one_name(part) + ("" if is_last else "/")
    # Whatever a name means, it also means what is in the folder of that name.
    return re.compile(source + "(?:/.*)?", re.DOTALL)


def _one_name(part: str) -> str:
    """One folder's or file's name: `*`, `?`, `[abc]`, `{a,b}`; anything else stands for itself."""
    source, rest = "", part
    while rest:
        if found := re.match(r"\*+", rest):
            source += "[^/]*"
        elif found := re.match(r"\?", rest):
            source += "[^/]"
        elif found := re.match(r"\[(!?)([^\[\]/\\]+)\]", rest):
            source += f"(?!/)[{'^' if found[1] else ''}{_in_class(found[2])}]"
        elif found := re.match(r"\{([^{}]*)\}", rest):
            source += "(?:" + "|".join(_one_name(one) for one in found[1].split(",")) + ")"
        else:
            found = re.match(r"(?s).", rest)
            assert found is not None  # noqa: S101  # something is left
            source += re.escape(found[0])
        rest = rest[found.end() :]
    return source


def _in_class(characters: str) -> str:
    """The same set for `re`. A range that runs backwards (`z-a`) would be an error there: it is three characters."""
    source = ""
    while characters:
        first, dash, last = characters[:1], characters[1:2], characters[2:3]
        is_range = dash == "-" and bool(last) and first <= last
        source += f"{re.escape(first)}-{re.escape(last)}" if is_range else re.escape(first)
        characters = characters[3 if is_range else 1 :]
    return source

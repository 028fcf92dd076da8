"""Glob patterns for files of the repository, as in `May edit:` and `protect`.

`*` and `?` match within one folder, `**` matches any number of folders, and a folder's name matches all files in it.
"""

from __future__ import annotations

import re
from functools import lru_cache

# Many times the patterns of any plan and settings.
_CACHED_PATTERNS = 1024


def checked_pattern(text: str) -> str:
    """Return the pattern without a leading `./`. Raises ValueError unless it stays inside the repository."""
    pattern = text.strip()
    while pattern.startswith("./"):
        pattern = pattern[2:].lstrip("/")
    if not pattern or pattern == ".":
        raise ValueError(f"got {text.strip()!r}, which matches no file")
    if pattern.startswith(("/", "~")) or re.match(r"[A-Za-z]:[\\/]", pattern):
        raise ValueError(f"got {pattern!r}, which is outside the repository")
    if ".." in re.split(r"[\\/]", pattern):
        raise ValueError(f"got {pattern!r}, which leaves the repository")
    return pattern


def matches(pattern: str, path: str) -> bool:
    """Return whether the pattern matches a path, given relative to the repository's top with slashes."""
    return _compile(pattern).fullmatch(path) is not None


@lru_cache(maxsize=_CACHED_PATTERNS)
def _compile(pattern: str) -> re.Pattern[str]:
    parts = [part for part in pattern.split("/") if part]
    # Consecutive `**` match what one matches, and take far longer.
    parts = [part for index, part in enumerate(parts) if part != "**" or parts[index - 1 : index] != ["**"]]
    source = ""
    for index, part in enumerate(parts):
        is_last = index == len(parts) - 1
        if part == "**":
            source += ".*" if is_last else "(?:[^/]+/)*"
        else:
            source += _name_source(part) + ("" if is_last else "/")
    # A name also matches everything inside the folder of that name.
    return re.compile(source + "(?:/.*)?", re.DOTALL)


def _name_source(part: str) -> str:
    """Return the regular expression for one folder's or file's name: `*`, `?`, `[abc]`, `{a,b}`, literals."""
    source, rest = "", part
    while rest:
        if token := re.match(r"\*+", rest):
            source += "[^/]*"
        elif token := re.match(r"\?", rest):
            source += "[^/]"
        elif token := re.match(r"\[(!?)([^\[\]/\\]+)\]", rest):
            source += f"(?!/)[{'^' if token[1] else ''}{_in_class(token[2])}]"
        elif token := re.match(r"\{([^{}]*)\}", rest):
            source += "(?:" + "|".join(_name_source(option) for option in token[1].split(",")) + ")"
        else:
            token = re.match(r"(?s).", rest)
            assert token is not None  # noqa: S101  # rest is not empty
            source += re.escape(token[0])
        rest = rest[token.end() :]
    return source


def _in_class(characters: str) -> str:
    """Escape a character class for `re`. A reversed range (`z-a`), an error there, is three characters."""
    source = ""
    while characters:
        first, dash, last = characters[:1], characters[1:2], characters[2:3]
        is_range = dash == "-" and bool(last) and first <= last
        source += f"{re.escape(first)}-{re.escape(last)}" if is_range else re.escape(first)
        characters = characters[3 if is_range else 1 :]
    return source

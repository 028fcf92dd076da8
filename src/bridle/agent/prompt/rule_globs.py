"""The `paths` of a rule: shell patterns of the files that it is about. Pure."""

from __future__ import annotations

import re


def rule_paths(frontmatter: str) -> list[str] | None:
    """Return the patterns of a rule's frontmatter; None for a rule without `paths`, which is about every file."""
    found = re.search(r"(?m)^paths[ \t]*:[ \t]*(.*)\n?((?:[ \t]*-[ \t]+.*(?:\n|\Z))*)", frontmatter)
    if found is None:
        return None
    inline = found[1].strip().removeprefix("[").removesuffix("]")
    items = re.split(r",(?![^{]*\})", inline)
    items += [line.strip()[1:] for line in found[2].splitlines()]
    return [item for item in (item.strip().strip("\"'") for item in items) if item]


def matches(path: str, pattern: str) -> bool:
    """Return whether a relative path fits a pattern with `*`, `**`, `?`, `{a,b}`; a folder fits what is below it."""
    return re.fullmatch(_expression(pattern.removeprefix("./").rstrip("/")) + "(/.*)?", path) is not None


def _expression(pattern: str) -> str:
    text = ""
    for part in re.findall(r"\*\*/|\*\*|\*|\?|\{[^{}]*\}|[^*?{]+|.", pattern):
        if part == "**/":
            text += "(?:.*/)?"
        elif part == "**":
            text += ".*"
        elif part == "*":
            text += "[^/]*"
        elif part == "?":
            text += "[^/]"
        elif part.startswith("{") and len(part) > 1:
            text += "(?:" + "|".join(_expression(choice) for choice in part[1:-1].split(",")) + ")"
        else:
            text += re.escape(part)
    return text

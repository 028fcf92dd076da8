"""What exit code 1 means for the few commands that do not fail with it. Pure.

Command lines are split only to find names; permissions are decided elsewhere, from a full parse.
"""

from __future__ import annotations

import re

_MEANINGS = {
    "grep": "No matches found",
    "rg": "No matches found",
    "find": "Some directories were inaccessible",
    "diff": "Files differ",
    "test": "Condition is false",
    "[": "Condition is false",
}

# Commands that print nothing when they succeed.
_SILENT = frozenset(
    {"cd", "chgrp", "chmod", "chown", "cp", "export", "ln", "mkdir", "mv", "rm", "rmdir", "touch", "unset", "wait"}
)

# Quoted text, an escaped character, a redirection with an ampersand, an operator, or anything up to one of these.
_PIECE = r"""'[^']*'?|"(?:\\.|[^"\\])*"?|\\.|[<>]&|&>|\|\||&&|[|&;\n]|[^'"\\|&;\n<>]+|."""
_OPERATORS = frozenset({"||", "&&", "|", "&", ";", "\n"})


def meaning(command: str, exit_code: int) -> str | None:
    """Return what exit code 1 of the last command means; None if the command failed."""
    if exit_code != 1:
        return None
    names = _names(command)
    return _MEANINGS.get(names[-1]) if names else None


def is_silent(command: str) -> bool:
    """Return whether the line has only commands that print nothing."""
    names = _names(command)
    return bool(names) and all(name in _SILENT for name in names)


def first_name(command: str) -> str:
    """Return the name of the first command, or an empty text."""
    names = _names(command)
    return names[0] if names else ""


def _names(command: str) -> list[str]:
    parts: list[list[str]] = [[]]
    for piece in re.findall(_PIECE, command, re.DOTALL):
        if piece in _OPERATORS:
            parts.append([])
        else:
            parts[-1].append(piece)
    return [words[0] for part in parts if (words := "".join(part).split(maxsplit=1))]

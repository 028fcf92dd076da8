"""What an exit code means for the few commands that use 1 for an answer and not for a failure. Pure.

Commands are split here for their names alone; what may run is decided elsewhere, on a real parse.
"""

from __future__ import annotations

import re

_ANSWERS = {
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

# Quoted text, an escaped letter, a redirection with an ampersand, an operator, or anything else up to one of these.
_PIECE = r"""'[^']*'?|"(?:\\.|[^"\\])*"?|\\.|[<>]&|&>|\|\||&&|[|&;\n]|[^'"\\|&;\n<>]+|."""
_OPERATORS = frozenset({"||", "&&", "|", "&", ";", "\n"})


def meaning(command: str, exit_code: int) -> str | None:
    """What exit code 1 says about the last command of the line, if it is an answer; None for a failure."""
    if exit_code != 1:
        return None
    names = _names(command)
    return _ANSWERS.get(names[-1]) if names else None


def is_silent(command: str) -> bool:
    """Whether nothing but commands that print nothing stand in it."""
    names = _names(command)
    return bool(names) and all(name in _SILENT for name in names)


def first_name(command: str) -> str:
    """The name of the first command, or nothing."""
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

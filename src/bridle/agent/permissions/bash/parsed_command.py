"""Values of a parsed shell command, and the files that it uses."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from bridle.agent.permissions.bash.words import Word

# Variables that affect a program's output, but never which programs run or which files they open.
_HARMLESS_NAMES: Final = """
CI CLICOLOR COLUMNS DEBIAN_FRONTEND FORCE_COLOR GIT_TERMINAL_PROMPT LANG LANGUAGE LC_ALL LC_COLLATE
LC_CTYPE LC_MESSAGES LC_NUMERIC LC_TIME LINES NODE_ENV NO_COLOR PYTHONDONTWRITEBYTECODE PYTHONHASHSEED
PYTHONUNBUFFERED PYTHONUTF8 RUST_BACKTRACE RUST_LOG TERM TZ
"""
_HARMLESS_VARIABLES: Final = frozenset(_HARMLESS_NAMES.split())
# Builtins that set variables for the rest of a command and its programs.
DECLARERS: Final = frozenset({"declare", "export", "local", "readonly", "typeset"})
_HARMLESS_VALUE = re.compile(r"[A-Za-z0-9_.,:@+=-]*\Z")
_OWN_VARIABLE = re.compile(r"[a-z][a-z0-9_]*\Z")


class Redirect(msgspec.Struct, frozen=True):
    """A file that the shell opens for a command."""

    operator: str
    target: Word

    @property
    def is_read(self) -> bool:
        """Whether the file is only read."""
        return self.operator == "<"


class Command(msgspec.Struct, frozen=True):
    """One simple command: assignments, words, redirections; any of them may be missing."""

    words: tuple[Word, ...]
    assignments: tuple[tuple[str, Word | None], ...] = ()
    redirects: tuple[Redirect, ...] = ()
    text: str = ""
    place: int = 0
    """Its start position in the script."""


class Script(msgspec.Struct, frozen=True):
    """All simple commands of a text, as far as it was understood."""

    commands: tuple[Command, ...]
    doubts: tuple[str, ...] = ()
    """Reasons why it is not fully understood."""
    is_broken: bool = False
    """Whether there may be commands that were not found."""
    functions: tuple[tuple[str, int], ...] = ()
    """Functions that are certainly defined after the given position."""
    runs_in_background: bool = False
    inputs: tuple[str, ...] = ()
    """Texts that commands get as their input: here-documents and here-strings."""


class FilesUsed(msgspec.Struct, frozen=True):
    """The files that a command uses, and how."""

    reads: tuple[Word, ...] = ()
    writes: tuple[Word, ...] = ()
    removes: tuple[Word, ...] = ()
    """Files that are removed or renamed."""
    follows: bool = False
    """Whether the program follows links below a folder."""
    is_git: bool = False
    goes_to: Word | None = None
    """The shell's folder afterwards."""
    objection: str | None = None
    """Why this use of a known program is not allowed."""


def is_harmless(name: str, value: Word | None) -> bool:
    """Return whether a variable may be set for a command that is allowed without it."""
    return name in _HARMLESS_VARIABLES and value is not None and bool(_HARMLESS_VALUE.match(value.value or "/"))


def is_own(name: str, value: Word | None) -> bool:
    """Return whether a variable belongs to the script: programs do not read it."""
    return value is not None and bool(_OWN_VARIABLE.match(name)) and not name.endswith("_proxy")

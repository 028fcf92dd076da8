"""Assignments that do not affect what a command runs and opens."""

from __future__ import annotations

import re
from typing import Final

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


def is_harmless(name: str, value: Word | None) -> bool:
    """Return whether a variable may be set for a command that is allowed without it."""
    return name in _HARMLESS_VARIABLES and value is not None and bool(_HARMLESS_VALUE.match(value.value or "/"))


def is_own(name: str, value: Word | None) -> bool:
    """Return whether a variable belongs to the script: programs do not read it."""
    return value is not None and bool(_OWN_VARIABLE.match(name)) and not name.endswith("_proxy")

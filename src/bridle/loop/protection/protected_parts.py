"""What no task may change without `May edit:`: files, parts of files, and files that must not be added. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import msgspec
from msgspec import Struct, field

MAKE = "make"
NPM = "npm"
TOML = "toml"
INI = "ini"
CONFTEST = "conftest"

THERE = "there"
FREE = "free"
CLOSED = "closed"

# What parsers raise for a text that is nested too deeply. Python's own runs out of the memory that it allows itself.
TOO_DEEP = (RecursionError, MemoryError)

# In a makefile: the goal of `make` without arguments.
FIRST_GOAL = "the first goal"
# In a makefile: lines that are a call of a function, such as `$(eval …)`.
FUNCTIONS = "function calls"
# In a makefile: what affects every goal.
OF_EVERY_GOAL = frozenset(
    {"$.DEFAULT_GOAL", "$.RECIPEPREFIX", "$.SHELLFLAGS", "$MAKE", "$MAKEFILES", "$MAKEFLAGS", "$SHELL"}
    | {"$BASH_ENV", "$ENV", "$GNUMAKEFLAGS", "$LD_LIBRARY_PATH", "$LD_PRELOAD", "$PATH", "$VPATH"}
    | {"$CARGO", "$GOFLAGS", "$JAVA_TOOL_OPTIONS", "$NODE_OPTIONS", "$PERL5OPT", "$RUBYOPT", "$RUSTC", "$RUSTFLAGS"}
    | {"$PYTEST_ADDOPTS", "$PYTEST_PLUGINS", "$PYTHONHOME", "$PYTHONPATH", "$PYTHONSTARTUP"}
    | {"%", ".DEFAULT", ".IGNORE", ".ONESHELL", "include", FIRST_GOAL, FUNCTIONS}
)


class Part(msgspec.Struct, frozen=True, array_like=True):
    """The part of one file that defines a check."""

    path: str
    kind: str
    """The file's format: `make`, `npm`, `toml`, `ini`, `conftest`."""
    names: tuple[str, ...] = ()
    """Targets and `$variables`, scripts and keys, tables, sections."""
    state: str = THERE
    """`there`: it existed when the run began. Else `free` to be added within limits, or `closed`."""

    def describe(self) -> str:
        """Return the path and the names, for the user."""
        shown = [
            name for name in self.names if name not in OF_EVERY_GOAL and not name.startswith((".PHONY:", ".IGNORE:"))
        ]
        return f"{self.path} ({', '.join(shown)})" if shown else self.path


class Protected(Struct, frozen=True):
    """Everything that is protected in a run."""

    files: Mapping[str, str] = field(default_factory=dict)
    """Files that are protected as a whole, each with the reason."""
    parts: tuple[Part, ...] = ()
    absent: Mapping[str, str] = field(default_factory=dict)
    """Files that did not exist and would change what a check does, each with the reason.

    The last part of a path may be a pattern."""
    conftest_folders: tuple[str, ...] = ()
    """Folders in which an added conftest.py is inspected."""
    reviewed: Mapping[str, str] = field(default_factory=dict)
    """Files that did not exist and are reported if they are added, each with the reason; as in `absent`."""
    python_folders: tuple[str, ...] = ()
    """Folders of which checks import Python modules; `""` is the top."""
    python_modules: tuple[str, ...] = ()
    """Files in them that existed and replace modules of the standard library or of a test runner."""
    programs: tuple[str, ...] = ()
    """Words of the checks that may be programs; see `check_programs`."""
    program_folders: tuple[str, ...] = ()
    """Folders in which checks start them, such as packages of a workspace; `""` is the top."""
    made: tuple[str, ...] = ()
    """Files that recipes of make make: while they are newer than their prerequisites, make does not run these."""
    definitions: Mapping[str, str] = field(default_factory=dict)
    """Names of files that define how a check runs and that ordinary work edits, each with the program; in any folder.

    `#` separates a key from the file whose other parts are not reported."""

    @property
    def paths(self) -> list[str]:
        """Every path that is protected as a whole or in part, existing or not."""
        return sorted({*self.files, *(part.path for part in self.parts)})

    def lines(self, present: Collection[str]) -> list[str]:
        """List the existing protected files, for users and prompts."""
        parts = [part.describe() for part in self.parts if part.path in present and part.state == THERE]
        return [*(path for path in self.files if path in present), *parts]

    def as_json(self) -> dict[str, Any]:
        document: dict[str, Any] = msgspec.to_builtins(self)
        return document

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Protected:
        """Decode what `as_json` returned."""
        return msgspec.convert(value, cls)


class Restored(Struct, frozen=True):
    """A file with its protected part restored."""

    text: str | None
    """The whole file as it must be; None if it must not exist."""
    what: tuple[str, ...]
    """Descriptions of the changes that were reverted."""
    is_whole: bool = False
    """Whether the whole file was restored, because the part could not be separated from other changes."""

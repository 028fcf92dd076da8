"""What no task may change unless its plan says so: whole files, parts of files, and names that must stay free. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

MAKE = "make"
NPM = "npm"
TOML = "toml"
INI = "ini"
CONFTEST = "conftest"

THERE = "there"
FREE = "free"
CLOSED = "closed"

# Of a makefile: the goal of a make that is given none.
FIRST_GOAL = "the first goal"
# Of a makefile: what says of every goal how it is made.
OF_EVERY_GOAL = frozenset(
    {"$.DEFAULT_GOAL", "$.RECIPEPREFIX", "$.SHELLFLAGS", "$MAKE", "$MAKEFILES", "$MAKEFLAGS", "$SHELL"}
    | {"%", ".DEFAULT", ".IGNORE", ".ONESHELL", "include", FIRST_GOAL}
)


@dataclass(frozen=True)
class Part:
    """What of one file defines a check."""

    path: str
    kind: str
    """How the file is read: `make`, `npm`, `toml`, `ini`, `conftest`."""
    names: tuple[str, ...] = ()
    """Targets and `$variables`, scripts and keys, tables, sections."""
    state: str = THERE
    """`there` when the run began; or not there, and then `free` to be added within limits, or `closed`."""

    def words(self) -> str:
        """For people."""
        shown = [
            name for name in self.names if name not in OF_EVERY_GOAL and not name.startswith((".PHONY:", ".IGNORE:"))
        ]
        return f"{self.path} ({', '.join(shown)})" if shown else self.path


@dataclass(frozen=True)
class Protected:
    """Everything that is protected in a run."""

    files: Mapping[str, str] = field(default_factory=dict)
    """Whole files, each with the reason."""
    parts: tuple[Part, ...] = ()
    absent: Mapping[str, str] = field(default_factory=dict)
    """Files that were not there and would change what a check does, each with the reason."""
    conftest_folders: tuple[str, ...] = ()
    """Below these, a conftest.py that appears is looked at."""

    @property
    def paths(self) -> list[str]:
        """Every file that is protected, as a whole or in part, whether or not it is there."""
        return sorted({*self.files, *(part.path for part in self.parts)})

    def lines(self, present: Collection[str]) -> list[str]:
        """For people and prompts: a line for each of those that are there."""
        parts = [part.words() for part in self.parts if part.path in present and part.state == THERE]
        return [*(path for path in self.files if path in present), *parts]

    def as_json(self) -> dict[str, Any]:
        """For the record of the run's start."""
        return {
            "files": dict(self.files),
            "parts": [[part.path, part.kind, list(part.names), part.state] for part in self.parts],
            "absent": dict(self.absent),
            "conftest_folders": list(self.conftest_folders),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Protected:
        """What `as_json` gave."""
        return cls(
            dict(value["files"]),
            tuple(Part(path, kind, tuple(names), state) for path, kind, names, state in value["parts"]),
            dict(value["absent"]),
            tuple(value["conftest_folders"]),
        )


@dataclass(frozen=True)
class Restored:
    """A file whose protected part was put back."""

    text: str | None
    """The whole file as it must be; None where it must not be there."""
    what: tuple[str, ...]
    """What was changed in it, in words."""
    is_whole: bool = False
    """Other changes of the file are gone, too: the part could not be told from them."""

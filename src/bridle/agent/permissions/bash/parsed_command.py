"""What a shell command is made of, once it was read."""

from __future__ import annotations

import msgspec

from bridle.agent.permissions.bash.words import Word


class Redirect(msgspec.Struct, frozen=True):
    """One file that the shell opens for a command."""

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
    """Where in the script it starts."""


class Script(msgspec.Struct, frozen=True):
    """Everything that a command would run, as far as it was understood."""

    commands: tuple[Command, ...]
    doubts: tuple[str, ...] = ()
    """Why it is not understood as a whole."""
    is_broken: bool = False
    """Whether there may be commands in it that were not found at all."""
    functions: tuple[tuple[str, int], ...] = ()
    """The functions that are there for certain after the given place."""
    runs_in_background: bool = False


class Touches(msgspec.Struct, frozen=True):
    """The files that a command names, and what it does to them."""

    reads: tuple[Word, ...] = ()
    writes: tuple[Word, ...] = ()
    removes: tuple[Word, ...] = ()
    """What is gone afterwards: removed, or moved away."""
    follows: bool = False
    """Whether links below a folder are followed."""
    is_git: bool = False
    goes_to: Word | None = None
    """The folder that the shell stands in afterwards."""
    objection: str | None = None
    """Why the program is known and this use of it is not."""

"""Values of a parsed shell command, and the files that it uses."""

from __future__ import annotations

import msgspec

from bridle.agent.permissions.bash.words import Word


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

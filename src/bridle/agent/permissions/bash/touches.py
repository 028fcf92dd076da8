"""The files that a command names, and what it does to them."""

from __future__ import annotations

import msgspec

from bridle.agent.permissions.bash.words import Word


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

"""Commands that probably test or prepare a repository, and the files that say so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bridle.errors import DiskError
from bridle.ground import disk

# Files that a person writes; what is larger is made by a machine and says nothing here.
_LIMIT_BYTES = 1024 * 1024

Which = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A command that probably does it."""

    command: str
    reason: str
    """What was seen, to go after "because"."""
    is_here: bool = True
    """Whether its program can be found on this machine."""


@dataclass(frozen=True, slots=True)
class Found:
    """What was found, the likeliest first."""

    checks: tuple[Candidate, ...] = ()
    setup: tuple[Candidate, ...] = ()

    @property
    def check(self) -> Candidate | None:
        """The one to take: the likeliest whose program is here."""
        return next((one for one in self.checks if one.is_here), self.checks[0] if self.checks else None)


def read(folder: Path, name: str) -> str:
    """The text of a file; empty where there is none that can be read."""
    try:
        return disk.read_bounded(folder / name, _LIMIT_BYTES).decode("utf-8-sig", "replace")
    except (DiskError, OSError):
        return ""

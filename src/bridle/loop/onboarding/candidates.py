"""Commands that probably test or set up a repository, with the reason for each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from bridle.errors import DiskError
from bridle.ground import disk

# Larger files are generated and not read.
_LIMIT_BYTES = 1024 * 1024

Which = Callable[[str], str | None]


class Candidate(Struct, frozen=True):
    """A command that probably tests or sets up the repository."""

    command: str
    reason: str
    """What suggests it, to follow "because"."""
    is_installed: bool = True
    """Whether its program is installed."""


class DetectedCommands(Struct, frozen=True):
    """The detected commands, the likeliest first."""

    checks: tuple[Candidate, ...] = ()
    setup: tuple[Candidate, ...] = ()

    @property
    def check(self) -> Candidate | None:
        """The likeliest check whose program is installed, else the likeliest."""
        return next((check for check in self.checks if check.is_installed), self.checks[0] if self.checks else None)


def read_text(folder: Path, name: str) -> str:
    """Return the text of a file, or an empty text if it cannot be read."""
    try:
        return disk.read_bounded(folder / name, _LIMIT_BYTES).decode("utf-8-sig", "replace")
    except (DiskError, OSError):
        return ""

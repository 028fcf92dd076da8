"""Reports about protected files, shown to the user in the receipt."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Report:
    """A change to one file that the user should know about."""

    path: str
    what: str

"""Values for the tests of one file."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """One test."""

    assertions: int
    is_skipped: bool = False
    is_empty: bool = False


@dataclass(frozen=True)
class Suite:
    """The tests of one file."""

    by_name: dict[str, Case]
    is_focused: bool = False
    """Whether some are marked to run exclusively."""

"""The tests of one file, as values."""

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
    """Some are marked to be the only ones that run."""

"""Values for the tests of one file."""

from __future__ import annotations

from msgspec import Struct


class Case(Struct, frozen=True):
    """One test."""

    assertions: int
    is_skipped: bool = False
    is_empty: bool = False


class Suite(Struct, frozen=True):
    """The tests of one file."""

    by_name: dict[str, Case]
    is_focused: bool = False
    """Whether some are marked to run exclusively."""

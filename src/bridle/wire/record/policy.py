"""The two policies by which runs are judged."""

from __future__ import annotations

from enum import StrEnum


class Policy(StrEnum):
    """The rules by which a run counts as failed."""

    HARNESS = "harness"
    LENIENT = "lenient"

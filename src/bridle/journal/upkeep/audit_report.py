"""What an audit of a run reports."""

from __future__ import annotations


class Finding:
    """A finding about one file."""

    __slots__ = ("fault", "file")

    def __init__(self, file: str, fault: str) -> None:
        self.file = file
        """Relative to the run's folder."""
        self.fault = fault


class ChainReport:
    """The chain of a run, computed from its entries."""

    __slots__ = ("heads", "later")

    def __init__(self, heads: list[str], later: list[tuple[int, int]]) -> None:
        self.heads = heads
        """The digest at each entry."""
        self.later = later
        """The first and last numbers of entries whose links a later writer added."""


class Report:
    """The report of an audit."""

    __slots__ = ("chain", "effects", "entries", "files", "leftovers", "not_covered", "refused", "wrong")

    def __init__(self) -> None:
        self.entries = 0
        self.effects = 0
        self.files = 0
        """How many files were read."""
        self.chain: ChainReport | None = None
        """None for a run without a chain."""
        self.wrong: list[Finding] = []
        self.leftovers: list[Finding] = []
        self.not_covered: list[str] = []
        """Files of a run with a chain that no digest covers, relative to its folder; locks aside."""
        self.refused: list[str] = []
        """What an agent or a check tried and Bridle refused."""

    @property
    def is_good(self) -> bool:
        return not self.wrong

"""What an audit of a run reports."""

from __future__ import annotations


class Finding:
    """A finding about one file."""

    __slots__ = ("fault", "file")

    def __init__(self, file: str, fault: str) -> None:
        self.file = file
        """Relative to the run's folder."""
        self.fault = fault


class Report:
    """The report of an audit."""

    __slots__ = ("effects", "entries", "files", "leftovers", "refused", "wrong")

    def __init__(self) -> None:
        self.entries = 0
        self.effects = 0
        self.files = 0
        """How many files were read."""
        self.wrong: list[Finding] = []
        self.leftovers: list[Finding] = []
        self.refused: list[str] = []
        """What an agent or a check tried and Bridle refused."""

    @property
    def is_good(self) -> bool:
        return not self.wrong

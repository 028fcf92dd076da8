"""The lines of a unified diff as rows of two columns: the old text on the left, the new text on the right. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TypeAlias

SAME, ADDED, REMOVED, CHANGED = "same", "add", "del", "change"
Row: TypeAlias = "tuple[int | None, str | None, int | None, str | None, str]"
"""Old number, old text, new number, new text, kind; None where a side has no line or its number is not known."""

_HUNK = re.compile(r"@@ -(\d{1,9})(?:,\d+)? \+(\d{1,9})(?:,\d+)? @@")


def side_by_side(lines: Iterable[str], *, first: int | None = None) -> list[Row]:
    """Return the rows of a diff; removed lines are beside the added ones that replace them.

    `first` is the number of the first line where no hunk says it, as in the diff of a new file.
    """
    rows: list[Row] = []
    numbers = _Numbers(first)
    removed: list[str] = []
    added: list[str] = []
    for line in lines:
        mark, text = line[:1], line[1:]
        if mark == "-" and not added:
            removed.append(text)
        elif mark == "-":
            rows += _changed(removed, added, numbers)
            removed, added = [text], []
        elif mark == "+":
            added.append(text)
        else:
            rows += _changed(removed, added, numbers)
            removed, added = [], []
            if line.startswith("@@"):
                numbers.start(line)
            elif mark != "\\":  # git marks a file without a line end at its end
                rows.append((numbers.next_old(), text, numbers.next_new(), text, SAME))
    return [*rows, *_changed(removed, added, numbers)]


class _Numbers:
    """The numbers of the next lines on both sides; None where the hunk does not say where it is."""

    def __init__(self, first: int | None) -> None:
        self._old = first
        self._new = first

    def start(self, header: str) -> None:
        match = _HUNK.match(header)
        self._old, self._new = (int(match[1]), int(match[2])) if match else (None, None)

    def next_old(self) -> int | None:
        number, self._old = self._old, None if self._old is None else self._old + 1
        return number

    def next_new(self) -> int | None:
        number, self._new = self._new, None if self._new is None else self._new + 1
        return number


def _changed(removed: list[str], added: list[str], numbers: _Numbers) -> Iterator[Row]:
    for index in range(max(len(removed), len(added))):
        has_old, has_new = index < len(removed), index < len(added)
        kind = CHANGED if has_old and has_new else REMOVED if has_old else ADDED
        yield (
            numbers.next_old() if has_old else None,
            removed[index] if has_old else None,
            numbers.next_new() if has_new else None,
            added[index] if has_new else None,
            kind,
        )

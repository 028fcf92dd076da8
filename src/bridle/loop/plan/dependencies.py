"""Dependencies between tasks: titles in the text of `Needs:`, and cycles. Pure."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import islice

from bridle.ground.suggest import close_names

_NUMBER = re.compile(
    r"(?:(?:task|step|story)[ ]+)?#?(\d{1,6})[ ]*[-–—:.)]*[ ]+(?=\S)|(?:task|step|story)[ ]+(\d{1,6})[-–—:.)]+"
)
_NOTHING = frozenset({"", "none", "nothing", "n/a", "-", "–", "—"})
_BETWEEN = re.compile(r",(?: and)? | (?:and|&) ")
_EDGES = " .:,"
# Users fix the first few and try again.
_MOST_CYCLES = 10


def title_key(title: str) -> str:
    """Return the key under which equal titles compare equal, whatever their case and markup."""
    return _plain(title).casefold()


class Titles:
    """The titles of a plan, with every unambiguous other name of each."""

    def __init__(self, titles: Iterable[str], ids: Mapping[str, str] | None = None) -> None:
        self._by_key: dict[str, str] = {}
        for title in titles:
            self._by_key.setdefault(title_key(title), title)
        others: dict[str, set[str]] = {}
        for title in self._by_key.values():
            for name in _other_names(title_key(title)):
                others.setdefault(name, set()).add(title)
        for name, title in (ids or {}).items():
            others.setdefault(title_key(name), set()).add(title)
        for name, candidates in others.items():
            if len(candidates) == 1:
                self._by_key.setdefault(name, *candidates)
        self._longest = max(map(len, self._by_key), default=0)

    def find(self, names: str) -> tuple[list[str], list[str]]:
        """Return the titles that are named, and the names that match none.

        A title may have commas or `and` in it: the longest match wins.
        """
        text = _plain(names)
        marks = [(mark.start(), mark.end()) for mark in _BETWEEN.finditer(text)]
        marks.append((len(text), len(text)))
        matched: list[str] = []
        unknown: list[str] = []
        start = 0
        while start < len(text):
            known = self._longest_at(text, start, marks)
            if known is not None:
                title, start = known
                matched.append(title)
            else:
                later = islice(marks, bisect_left(marks, (start, start)), None)
                end, after = next(mark for mark in later if self._may_end(text, mark, marks))
                if title_key(text[start:end]) not in _NOTHING:
                    unknown.append(text[start:end])
                start = after
        return matched, unknown

    def near(self, name: str) -> list[str]:
        """Return the titles closest to a name."""
        keys = close_names(title_key(name), self._by_key, limit=3, cutoff=0.5)
        return list(dict.fromkeys(self._by_key[key] for key in keys))

    def _longest_at(self, text: str, start: int, marks: Sequence[tuple[int, int]]) -> tuple[str, int] | None:
        """Return the longest title that begins at `start`, and where the next one may begin."""
        first = bisect_left(marks, (start, start))
        last = bisect_right(marks, (start + self._longest + len(_EDGES), len(text)))
        for end, after in reversed(marks[first:last]):
            title = self._by_key.get(text[start:end].strip(_EDGES).casefold())
            if title is not None:
                return title, after
        return None

    def _may_end(self, text: str, mark: tuple[int, int], marks: Sequence[tuple[int, int]]) -> bool:
        """Return whether an unknown name ends here: at a comma, at the end, or at an `and` before a title."""
        end, after = mark
        return end == after or text[end] == "," or self._longest_at(text, after, marks) is not None


def _plain(text: str) -> str:
    """Return the text without emphasis and quotation marks, with single spaces and one kind of comma."""
    unmarked = re.sub(r"[`*_\"“”]", "", text)
    return re.sub(r"\s*[,;]\s*", ", ", " ".join(unmarked.split())).strip(_EDGES)


def cycles(needs: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Return the cycles, each from a title to itself in the order of the needs."""
    result: list[list[str]] = []
    graph = {title: {other for other in others if other in needs} for title, others in needs.items()}
    while len(result) < _MOST_CYCLES:
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            cycle: list[str] = error.args[1][::-1]
            result.append(_from_first(cycle, needs))
            graph = {title: others - set(cycle) for title, others in graph.items() if title not in cycle}
        else:
            break
    return result


def _from_first(cycle: Sequence[str], needs: Mapping[str, Sequence[str]]) -> list[str]:
    """Rotate a cycle to begin with its first task in the plan."""
    order = {title: index for index, title in enumerate(needs)}
    members = list(cycle[:-1])
    start = min(range(len(members)), key=lambda index: order[members[index]])
    return [*members[start:], *members[:start], members[start]]


def _other_names(key: str) -> list[str]:
    """Return other names of a numbered title: without its number, and by its number alone."""
    match = _NUMBER.match(key)
    if match is None:
        return []
    number = match[1] or match[2]
    return [name for name in (key[match.end() :], number, f"#{number}", f"task {number}", f"step {number}") if name]

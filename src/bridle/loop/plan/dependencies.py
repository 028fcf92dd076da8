"""Which tasks a task waits for: titles found in what a person wrote, and rings in which everybody waits. Pure."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import islice

from bridle.ground.suggest import close_names

_NUMBER = re.compile(
    r"(?:(?:task|step|story)[ ]+)?#?(\d{1,6})[.):]?[ ]+(?=\S)|(?:task|step|story)[ ]+(\d{1,6})[ ]*[-–—:.)]+[ ]*"
)
_NOTHING = frozenset({"", "none", "nothing", "n/a", "-", "–", "—"})
_BETWEEN = re.compile(r",(?: and)? | (?:and|&) ")
_EDGES = " .:,"
# Each is told to a person, who mends the first few and looks again.
_MOST_CYCLES = 10


def title_key(title: str) -> str:
    """What two titles have in common that a person would call the same."""
    return _plain(title).casefold()


class Titles:
    """The titles of a plan, and every other way to name them that means one of them alone."""

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
        for name, meant in others.items():
            if len(meant) == 1:
                self._by_key.setdefault(name, *meant)
        self._longest = max(map(len, self._by_key), default=0)

    def find(self, words: str) -> tuple[list[str], list[str]]:
        """The titles that are named, and what names none. A title may hold commas or `and`: the longest one wins."""
        text = _plain(words)
        marks = [(mark.start(), mark.end()) for mark in _BETWEEN.finditer(text)]
        marks.append((len(text), len(text)))
        found: list[str] = []
        unknown: list[str] = []
        start = 0
        while start < len(text):
            known = self._longest_at(text, start, marks)
            if known is not None:
                title, start = known
                found.append(title)
            else:
                later = islice(marks, bisect_left(marks, (start, start)), None)
                end, after = next(mark for mark in later if self._may_end(text, mark, marks))
                if title_key(text[start:end]) not in _NOTHING:
                    unknown.append(text[start:end])
                start = after
        return found, unknown

    def near(self, words: str) -> list[str]:
        """The titles that were probably meant."""
        keys = close_names(title_key(words), self._by_key, limit=3, cutoff=0.5)
        return list(dict.fromkeys(self._by_key[key] for key in keys))

    def _longest_at(self, text: str, start: int, marks: Sequence[tuple[int, int]]) -> tuple[str, int] | None:
        """The longest title that begins there, and where the next one may begin."""
        first = bisect_left(marks, (start, start))
        last = bisect_right(marks, (start + self._longest + len(_EDGES), len(text)))
        for end, after in reversed(marks[first:last]):
            title = self._by_key.get(text[start:end].strip(_EDGES).casefold())
            if title is not None:
                return title, after
        return None

    def _may_end(self, text: str, mark: tuple[int, int], marks: Sequence[tuple[int, int]]) -> bool:
        """Whether what names no title ends here: at a comma, at the end, or at an `and` that a title follows."""
        end, after = mark
        return end == after or text[end] == "," or self._longest_at(text, after, marks) is not None


def _plain(words: str) -> str:
    """Without the marks of emphasis and quotation, with single spaces and one kind of comma."""
    unmarked = re.sub(r"[`*_\"“”]", "", words)
    return re.sub(r"\s*[,;]\s*", ", ", " ".join(unmarked.split())).strip(_EDGES)


def cycles(needs: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """The rings, each from a title to itself in the order in which one needs the next."""
    rings: list[list[str]] = []
    graph = {title: {other for other in others if other in needs} for title, others in needs.items()}
    while len(rings) < _MOST_CYCLES:
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            ring: list[str] = error.args[1][::-1]
            rings.append(_from_first(ring, needs))
            graph = {title: others - set(ring) for title, others in graph.items() if title not in ring}
        else:
            break
    return rings


def _from_first(ring: Sequence[str], needs: Mapping[str, Sequence[str]]) -> list[str]:
    """The same ring, told from the task that stands first in the plan."""
    order = {title: index for index, title in enumerate(needs)}
    members = list(ring[:-1])
    start = min(range(len(members)), key=lambda index: order[members[index]])
    return [*members[start:], *members[:start], members[start]]


def _other_names(key: str) -> list[str]:
    """A numbered title without its number, and its number alone."""
    found = _NUMBER.match(key)
    if found is None:
        return []
    number = found[1] or found[2]
    return [name for name in (key[found.end() :], number, f"#{number}", f"task {number}", f"step {number}") if name]

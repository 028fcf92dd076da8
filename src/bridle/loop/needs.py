"""Which tasks a task waits for: titles found in what a person wrote, and rings in which everybody waits. Pure."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

_NUMBER = re.compile(
    r"(?:(?:task|step|story)[ ]+)?#?(\d{1,6})[.):]?[ ]+(?=\S)|(?:task|step|story)[ ]+(\d{1,6})[ ]*[-–—:.)]+[ ]*"
)
_NOTHING = frozenset({"", "none", "nothing", "n/a", "-", "–", "—"})
# Each is told to a person, who mends the first few and looks again.
_MOST_CYCLES = 10


def title_key(title: str) -> str:
    """What two titles have in common that a person would call the same."""
    return re.sub(r"\s*[,;]\s*", ", ", " ".join(re.sub(r"[`*_\"“”]", "", title).split())).casefold().strip(" .:")


class Titles:
    """The titles of a plan, and every other way to name them that means one of them alone."""

    def __init__(self, titles: Iterable[str], ids: Mapping[str, str] | None = None) -> None:
        self._by_key = {title_key(title): title for title in titles}
        others: dict[str, set[str]] = {}
        for title in self._by_key.values():
            for name in _other_names(title_key(title)):
                others.setdefault(name, set()).add(title)
        for name, title in (ids or {}).items():
            others.setdefault(title_key(name), set()).add(title)
        for name, meant in others.items():
            if len(meant) == 1:
                self._by_key.setdefault(name, *meant)

    def find(self, words: str) -> tuple[list[str], list[str]]:
        """The titles that are named, and what names none. A title may hold commas: the longest one wins."""
        parts = re.split(r"[,;]", words)
        found: list[str] = []
        unknown: list[str] = []
        start = 0
        while start < len(parts):
            end = next((end for end in range(len(parts), start, -1) if self._title(parts[start:end])), None)
            title = self._title(parts[start:end]) if end is not None else None
            if title is not None and end is not None:
                found.append(title)
                start = end
                continue
            joined = self._joined_by_and(parts[start])
            found += joined
            name = " ".join(parts[start].split())
            if not joined and title_key(name) not in _NOTHING:
                unknown.append(name)
            start += 1
        return found, unknown

    def near(self, words: str) -> list[str]:
        """The titles that were probably meant."""
        keys = difflib.get_close_matches(title_key(words), self._by_key, n=3, cutoff=0.5)
        return list(dict.fromkeys(self._by_key[key] for key in keys))

    def _title(self, parts: Sequence[str]) -> str | None:
        return self._by_key.get(title_key(", ".join(part.strip() for part in parts)))

    def _joined_by_and(self, part: str) -> list[str]:
        """`A and B` where it is no title itself and both are."""
        pieces = re.split(r"\s+(?:and|&)\s+|^\s*and\s+", part)
        found = [self._by_key.get(title_key(piece)) for piece in pieces if piece.strip()]
        return [title for title in found if title is not None] if all(found) else []


def cycles(needs: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """The rings, each from a title to itself in the order in which one needs the next."""
    rings: list[list[str]] = []
    graph = {title: set(others) for title, others in needs.items()}
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

"""Lines of styled text, wrapped by the cells that a terminal gives each character. Nothing here prints."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

NARROWEST = 20  # below this a nested card would have no room for a word

Segment: TypeAlias = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Line:
    """One line: pieces of text with the name of their style."""

    segments: tuple[Segment, ...] = ()

    @property
    def plain(self) -> str:
        """The text alone, without spaces at its end."""
        return "".join(text for text, _ in self.segments).rstrip()


BLANK = Line()


def line(text: str, style: str = "") -> Line:
    """A line in one style."""
    return Line(((text, style),))


def indented(lines: Iterable[Line], prefix: str, style: str = "") -> Iterator[Line]:
    """The lines behind a prefix, such as a guide."""
    for one in lines:
        yield Line(((prefix, style), *one.segments))


def broken(one: Line, width: int) -> list[Line]:
    """A line in as many as it takes; those after the first have the style of its last piece."""
    if cells(one.plain) <= width:
        return [one]
    style = one.segments[-1][1]
    first, *rest = wrapped(one.plain, width)
    kept, room = [], len(first)
    for text, name in one.segments:
        kept.append((text[:room], name))
        room = max(0, room - len(text))
    return [Line(tuple(kept)), *(line(text, style) for text in rest)]


def cells(text: str) -> int:
    """How many cells of a terminal a text takes."""
    return len(text) if text.isascii() else _measure(text)


def fitted(text: str, width: int) -> str:
    """The text in at most this many cells, with an ellipsis where it was cut."""
    if cells(text) <= width:
        return text
    return chopped(text, max(width - 1, 1))[0] + "…"


def chopped(text: str, width: int) -> list[str]:
    """The text in pieces of at most this many cells."""
    width = max(width, 2)  # a wide character needs two
    if text.isascii():
        return [text[start : start + width] for start in range(0, len(text), width)] or [""]
    pieces, start, used = [], 0, 0
    for place, character in enumerate(text):
        size = _measure_one(character)
        if used + size > width:
            pieces.append(text[start:place])
            start, used = place, 0
        used += size
    return [*pieces, text[start:]]


def wrapped(text: str, width: int) -> Iterator[str]:
    """The lines of a text, broken between words where they are too long."""
    for one in text.split("\n"):
        yield from _wrap(one, width) if cells(one) > width else (one,)


def _wrap(text: str, width: int) -> Iterator[str]:
    body = text.lstrip(" ")
    indent = " " * min(len(text) - len(body), width // 2)
    room = width - len(indent)
    current, used = "", 0
    for word in re.findall(r"\S+ *", body):
        size = cells(word.rstrip())
        if current and used + size > room:
            yield indent + current.rstrip()
            current, used = "", 0
        if size > room:
            *whole, word = chopped(word, room)
            yield from (indent + piece for piece in whole)
        current += word
        used = used + cells(word)
    yield indent + current.rstrip()


def _measure(text: str) -> int:
    return sum(map(_measure_one, text))


@cache
def _measure_one(character: str) -> int:
    from rich.cells import cell_len

    return cell_len(character)

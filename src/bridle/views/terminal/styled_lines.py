"""Lines of styled text, measured and wrapped in terminal cells. Nothing here prints."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TypeAlias

from msgspec import Struct

MIN_WIDTH = 20  # below this a nested card would have no room for a word

Segment: TypeAlias = tuple[str, str]


class Line(Struct, frozen=True):
    """One line: pieces of text, each with the name of its style."""

    segments: tuple[Segment, ...] = ()

    @property
    def plain(self) -> str:
        """The text without styles and trailing spaces."""
        return "".join(text for text, _ in self.segments).rstrip()


BLANK = Line()


def styled_line(text: str, style: str = "") -> Line:
    return Line(((text, style),))


def indent(lines: Iterable[Line], prefix: str, style: str = "") -> Iterator[Line]:
    """Yield the lines behind a prefix, such as a guide."""
    for line in lines:
        yield Line(((prefix, style), *line.segments))


def wrap_line(line: Line, width: int) -> list[Line]:
    """Wrap a line; the lines after the first have the style of its last piece."""
    if cell_width(line.plain) <= width:
        return [line]
    style = line.segments[-1][1]
    first, *rest = wrap_text(line.plain, width)
    segments, room = [], len(first)
    for text, name in line.segments:
        segments.append((text[:room], name))
        room = max(0, room - len(text))
    return [Line(tuple(segments)), *(styled_line(text, style) for text in rest)]


def cell_width(text: str) -> int:
    """Return the number of terminal cells that a text takes."""
    return len(text) if text.isascii() else _measure(text)


def truncate(text: str, width: int) -> str:
    """Cut a text to at most `width` cells, with an ellipsis where it was cut."""
    if cell_width(text) <= width:
        return text
    if width > 2:
        return split_cells(text, width - 1)[0] + "…"
    return (text[0] if cell_width(text[0]) < width else "") + "…" if width > 0 else ""


def split_cells(text: str, width: int) -> list[str]:
    """Split a text into pieces of at most `width` cells."""
    width = max(width, 2)  # a wide character needs two
    if text.isascii():
        return [text[start : start + width] for start in range(0, len(text), width)] or [""]
    pieces, start, used = [], 0, 0
    for index, character in enumerate(text):
        size = _measure_one(character)
        if used + size > width:
            pieces.append(text[start:index])
            start, used = index, 0
        used += size
    return [*pieces, text[start:]]


def wrap_text(text: str, width: int) -> Iterator[str]:
    """Yield the lines of a text, those that are too long wrapped between words."""
    for line in text.split("\n"):
        yield from _wrap(line, width) if cell_width(line) > width else (line,)


def _wrap(text: str, width: int) -> Iterator[str]:
    body = text.lstrip(" ")
    margin = " " * min(len(text) - len(body), width // 2)
    room = width - len(margin)
    current, used = "", 0
    for word in re.findall(r"\S+ *", body):
        size = cell_width(word.rstrip())
        if current and used + size > room:
            yield margin + current.rstrip()
            current, used = "", 0
        if size > room:
            *whole, word = split_cells(word, room)
            yield from (margin + piece for piece in whole)
        current += word
        used = used + cell_width(word)
    yield margin + current.rstrip()


def _measure(text: str) -> int:
    return sum(map(_measure_one, text))


@cache
def _measure_one(character: str) -> int:
    from rich.cells import cell_len

    return cell_len(character)

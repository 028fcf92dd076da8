"""Which lines of a Markdown text can mean something to us, and what a heading or a box says. Pure.

Text in a fence, a comment or a front matter is only text, whatever it looks like.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from bridle.loop.plan.problems import Problems


class Place(Enum):
    """Where a line stands."""

    OPEN = "open"
    """In the open: it may be a heading, a box, a directive."""
    FENCE = "fence"
    """The first or the last line of a fenced block."""
    FENCED = "fenced"
    """In a fenced block."""
    APART = "apart"
    """In a comment, or in the front matter."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line without its end."""

    number: int
    text: str
    place: Place = Place.OPEN

    @property
    def is_open(self) -> bool:
        """Whether it can mean something."""
        return self.place is Place.OPEN

    @property
    def is_blank(self) -> bool:
        """Whether nothing stands there."""
        return not self.text.strip()

    @property
    def indent(self) -> int:
        """The columns before its first word."""
        expanded = self.text.expandtabs(4)
        return len(expanded) - len(expanded.lstrip(" "))


@dataclass(frozen=True, slots=True)
class Heading:
    """A line that begins with `#`."""

    level: int
    title: str
    is_ticked: bool | None = None
    """What its box says, as in `## [x] Title`; None where it has none."""


@dataclass(frozen=True, slots=True)
class Box:
    """A line as `- [ ] words`."""

    text: str
    is_ticked: bool


# Four columns and more are an indented code block.
CODE_INDENT = 4

_ITEM = r"(?:[-*+]|\d{1,9}[.)])"
_FENCE = re.compile(rf"\s*(?:{_ITEM}[ \t]+){{0,9}}(`{{3,}}(?=[^`]*\Z)|~{{3,}})")
_COMMENT = re.compile(r" {0,3}<!--")
_HEADING = re.compile(r" {0,3}(#{1,6})(?!#)(.*)\Z", re.DOTALL)
_HEADING_BOX = re.compile(r"\[([ xX]?)\][ \t]+")
_BOX = re.compile(rf"[ \t]*{_ITEM}[ \t]+\[([ xX/~>?!-]?)\][ \t]+(\S.*)\Z", re.DOTALL)
_LIST_ITEM = re.compile(rf"[ \t]*{_ITEM}[ \t]+(\S.*)\Z", re.DOTALL)


def read_lines(text: str, problems: Problems) -> list[Line]:
    """Every line with its place; a fence or a comment that never ends is a problem."""
    texts = [line.rstrip("\r") for line in text.split("\n")]
    lines = [Line(number, words, Place.APART) for number, words in enumerate(texts[: _front_matter(texts)], 1)]
    fence: str | None = None
    begun = 0
    in_comment = False
    for number, words in enumerate(texts[len(lines) :], len(lines) + 1):
        place = Place.OPEN
        if fence is not None:
            is_end = _ends(fence, words)
            place, fence = (Place.FENCE, None) if is_end else (Place.FENCED, fence)
        elif in_comment or _COMMENT.match(words):
            begun = begun if in_comment else number
            place, in_comment = Place.APART, "-->" not in (words if in_comment else words.split("<!--", 1)[1])
        elif found := _FENCE.match(words):
            place, fence, begun = Place.FENCE, found[1], number
        lines.append(Line(number, words, place))
    if fence is not None:
        problems.add(begun, f"the fence {fence} that begins here is never closed")
    if in_comment:
        problems.add(begun, "the comment that begins here is never closed; end it with -->")
    return lines


def heading(line: Line) -> Heading | None:
    """What a heading says; None where the line is none."""
    found = _HEADING.match(line.text) if line.is_open else None
    if found is None:
        return None
    level, rest = len(found[1]), found[2]
    # `##Title` is no heading to a strict reader, and to everybody who writes it.
    if rest and not rest[0].isspace() and not (level == 2 and (rest[0].isalnum() or rest[0] in "[`*_")):
        return None
    title, is_ticked = _without_closing(rest.strip()), None
    while box := _HEADING_BOX.match(title):
        is_ticked = box[1] in ("x", "X") if is_ticked is None else is_ticked
        title = title[box.end() :]
    return Heading(level, " ".join(title.split()), is_ticked)


def box(line: Line) -> Box | None:
    """What a box says; None where the line is none."""
    found = _BOX.match(line.text) if line.is_open else None
    return Box(found[2].strip(), found[1] in ("x", "X")) if found else None


def list_item(line: Line) -> str | None:
    """The words of a list's item; None where the line is none."""
    found = _LIST_ITEM.match(line.text) if line.is_open else None
    return found[1].strip() if found else None


def _front_matter(texts: list[str]) -> int:
    """How many lines it takes; a rule and tasks below it are none."""
    if texts[0].rstrip() != "---":
        return 0
    for index, words in enumerate(texts[1:], 1):
        if words.startswith("##"):
            return 0
        if words.rstrip() in ("---", "..."):
            return index + 1
    return 0


def _ends(fence: str, words: str) -> bool:
    closing = words.strip()
    return len(closing) >= len(fence) and not closing.strip(fence[0])


def _without_closing(title: str) -> str:
    """The same without the `##` that some people close a heading with."""
    while (rest := title.rstrip("#")) != title and (not rest or rest[-1].isspace()):
        title = rest.rstrip()
    return title

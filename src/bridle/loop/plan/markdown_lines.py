"""Lines of a Markdown text, and the headings, boxes and list items among them. Pure.

Text in a fence, a comment or the front matter is only text, whatever it looks like.
"""

from __future__ import annotations

import re
from enum import Enum

from msgspec import Struct

from bridle.loop.plan.problems import Problems


class Place(Enum):
    """The block that a line belongs to."""

    OPEN = "open"
    """None: it may be a heading, a box or a directive."""
    FENCE = "fence"
    """The first or the last line of a fenced block."""
    FENCED = "fenced"
    """Inside a fenced block."""
    COMMENT = "comment"
    APART = "apart"
    """In the front matter."""


class Line(Struct, frozen=True):
    """One line without its line ending."""

    number: int
    text: str
    place: Place = Place.OPEN

    @property
    def is_open(self) -> bool:
        """Whether it may be a heading, a box or a directive."""
        return self.place is Place.OPEN

    @property
    def is_blank(self) -> bool:
        """Whether it has only white space."""
        return not self.text.strip()

    @property
    def indent(self) -> int:
        """The columns before the first character."""
        expanded = self.text.expandtabs(4)
        return len(expanded) - len(expanded.lstrip(" "))


class Heading(Struct, frozen=True):
    """A line that begins with `#`."""

    level: int
    title: str
    is_ticked: bool | None = None
    """Whether its box is ticked, as in `## [x] Title`; None without a box."""


class Box(Struct, frozen=True):
    """A checklist line such as `- [ ] text`."""

    text: str
    is_ticked: bool


# Four columns and more are an indented code block.
CODE_INDENT = 4

_ITEM = r"(?:[-*+]|\d{1,9}[.)])"
_FENCE = re.compile(rf"\s*(?:{_ITEM}[ \t]+){{0,9}}(`{{3,}}(?=[^`]*\Z)|~{{3,}})")
_COMMENT = re.compile(r" {0,3}<!--")
_HEADING = re.compile(r" {0,3}(#{1,6})(?!#)(.*)\Z", re.DOTALL)
_RULE = re.compile(r" {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,}|={3,}[ \t]*)\Z")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*\Z")
_HEADING_BOX = re.compile(r"\[([ xX]?)\][ \t]+")
_BOX = re.compile(rf"[ \t]*{_ITEM}[ \t]+\[([ xX/~>?!-]?)\][ \t]+(\S.*)\Z", re.DOTALL)
_LIST_ITEM = re.compile(rf"[ \t]*{_ITEM}[ \t]+(\S.*)\Z", re.DOTALL)


def read_lines(text: str, problems: Problems) -> list[Line]:
    """Split a text into lines with their places. An unclosed fence or comment is a problem."""
    texts = [line.rstrip("\r") for line in text.split("\n")]
    lines = [Line(number, line_text, Place.APART) for number, line_text in enumerate(texts[: _front_matter(texts)], 1)]
    fence: str | None = None
    start_line = 0
    in_comment = False
    for number, line_text in enumerate(texts[len(lines) :], len(lines) + 1):
        place = Place.OPEN
        if fence is not None:
            is_end = _is_closing_fence(line_text, fence)
            place, fence = (Place.FENCE, None) if is_end else (Place.FENCED, fence)
        elif in_comment or _COMMENT.match(line_text):
            start_line = start_line if in_comment else number
            place, in_comment = Place.COMMENT, "-->" not in (line_text if in_comment else line_text.split("<!--", 1)[1])
        elif opening := _FENCE.match(line_text):
            place, fence, start_line = Place.FENCE, opening[1], number
        lines.append(Line(number, line_text, place))
    if fence is not None:
        problems.add(start_line, f"the fence {fence} that begins here is never closed")
    if in_comment:
        problems.add(start_line, "the comment that begins here is never closed. End it with -->.")
    return lines


def heading(line: Line) -> Heading | None:
    """Parse a heading; return None for other lines."""
    match = _HEADING.match(line.text) if line.is_open else None
    if match is None:
        return None
    level, rest = len(match[1]), match[2]
    # `##Title` is not a heading in strict Markdown, but its author means one.
    if rest and not rest[0].isspace() and not (level == 2 and (rest[0].isalnum() or rest[0] in "[`*_")):
        return None
    title, is_ticked = _without_closing_marks(rest.strip()), None
    while box := _HEADING_BOX.match(title):
        is_ticked = box[1] in ("x", "X") if is_ticked is None else is_ticked
        title = title[box.end() :]
    return Heading(level, " ".join(title.split()), is_ticked)


def box(line: Line) -> Box | None:
    """Parse a checklist line; return None for other lines."""
    match = _BOX.match(line.text) if line.is_open else None
    return Box(match[2].strip(), match[1] in ("x", "X")) if match else None


def is_rule(line: Line) -> bool:
    """Return whether a line is a rule between paragraphs, such as `---`."""
    return line.is_open and _RULE.match(line.text) is not None


def is_underline(line: Line) -> bool:
    """Return whether a line underlines the heading above it, if that is one."""
    return line.is_open and _UNDERLINE.match(line.text) is not None


def list_item(line: Line) -> str | None:
    """Return the text of a list item, or None for other lines."""
    match = _LIST_ITEM.match(line.text) if line.is_open else None
    return match[1].strip() if match else None


def _front_matter(texts: list[str]) -> int:
    """Count the lines of the front matter. A rule with tasks below it does not open one."""
    if texts[0].rstrip() != "---":
        return 0
    for index, line_text in enumerate(texts[1:], 1):
        if line_text.startswith("##"):
            return 0
        if line_text.rstrip() in ("---", "..."):
            return index + 1
    return 0


def _is_closing_fence(line_text: str, fence: str) -> bool:
    closing = line_text.strip()
    return len(closing) >= len(fence) and not closing.strip(fence[0])


def _without_closing_marks(title: str) -> str:
    while (rest := title.rstrip("#")) != title and (not rest or rest[-1].isspace()):
        title = rest.rstrip()
    return title

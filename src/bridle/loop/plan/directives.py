"""The directives of a plan (`Check:`, `Needs:`, …) with their values, parsed from lines. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from msgspec import Struct

from bridle.ground.suggest import close_names
from bridle.loop.plan.markdown_lines import CODE_INDENT, Line, Place, box, heading, list_item
from bridle.loop.plan.problems import Problems

CHECK = "Check"
CHECKS = "Checks"
NEEDS = "Needs"
MAY_EDIT = "May edit"
SETUP = "Setup"
OF_A_PLAN = (CHECK, CHECKS, SETUP, MAY_EDIT)
OF_A_TASK = (CHECK, CHECKS, NEEDS, MAY_EDIT)
ALL = (CHECK, CHECKS, NEEDS, MAY_EDIT, SETUP)
_COMMANDS = (CHECK, CHECKS, SETUP)

# Spellings, without case, spaces and hyphens.
_NAMES = {
    "check": CHECK,
    "checks": CHECKS,
    "need": NEEDS,
    "needs": NEEDS,
    "mayedit": MAY_EDIT,
    "setup": SETUP,
}
# Names in other tools. They only cause a warning, because they are common words in prose.
_OTHER_TOOLS = {
    "dependson": NEEDS,
    "depends": NEEDS,
    "dependencies": NEEDS,
    "blockedby": NEEDS,
    "maychange": MAY_EDIT,
    "canedit": MAY_EDIT,
    "validationcommands": CHECKS,
    "verify": CHECK,
    "test": CHECK,
    "tests": CHECK,
    "validate": CHECK,
    "validation": CHECK,
    "verification": CHECK,
    "acceptance": CHECK,
}
_PREFIX = r"[ \t]*(?:[-*+][ \t]+)?"
# A directive whose colon is missing: only with a command in backticks, since the words are common in prose.
_WITHOUT_COLON = re.compile(
    rf"{_PREFIX}[*_]{{0,3}}(checks?)[*_]{{0,3}}[ \t]*[-–—=]?[ \t]*`[^`]+`[ \t]*\Z", re.IGNORECASE
)

_NAME = r"([A-Za-z][A-Za-z _-]{1,29}?)"
_PLAIN = re.compile(rf"{_PREFIX}{_NAME}[ \t]*[:：](.*)\Z", re.DOTALL)
_EMPHASIZED = re.compile(rf"{_PREFIX}([*_]{{1,3}}){_NAME}[ \t]*(?:[:：][ \t]*\1|\1[ \t]*[:：])(.*)\Z", re.DOTALL)
_SIMILAR = 0.8
# Marks before a directive with which it is only text.
_MARKED = re.compile(r"[ \t]*(?P<mark>\d{1,9}[.)]|>|#{3,6}|<!--)[ \t]*(?P<text>.*)\Z", re.DOTALL)
_WITH_MARK = {">": "in a quotation", "#": "in a heading", "<": "in a comment"}
_NUMBERED = "in a numbered list; begin the line with it, or use `-`"


class Directive(Struct, frozen=True):
    """One directive with its values: the one on its line, or those below."""

    name: str
    line: int
    values: tuple[tuple[int, str], ...]
    """Each with its line number."""


def take_directives(
    lines: Sequence[Line], names: Collection[str], problems: Problems
) -> tuple[list[Directive], list[Line]]:
    """Return the directives of these names, and the remaining lines."""
    directives: list[Directive] = []
    rest: list[Line] = []
    index = 0
    while index < len(lines):
        line = lines[index]
        name, value = _directive(line)
        if name is None or name not in names:
            _warn_if_likely_directive(line, name, problems)
            rest.append(line)
            index += 1
        elif value:
            directives.append(Directive(name, line.number, ((line.number, value),)))
            index += 1
            _warn_if_torn(lines, index, line, name, problems)
        else:
            values, index = _values_below(lines, index + 1, name)
            directives.append(Directive(name, line.number, tuple(values)))
    return directives, rest


def is_directive(line: Line) -> bool:
    return _directive(line)[0] is not None


def _directive(line: Line) -> tuple[str | None, str]:
    """Return the directive's name and the value on its line."""
    if not line.is_open or line.indent >= CODE_INDENT:
        return None, ""
    name, value = _split_name(line.text)
    return _NAMES.get(name), value


def _split_name(text: str) -> tuple[str, str]:
    """Return the name before a colon, without case, spaces and hyphens, and the text after it."""
    if match := _PLAIN.match(text):
        return _squeeze(match[1]), match[2].strip()
    if match := _EMPHASIZED.match(text):
        return _squeeze(match[2]), match[3].strip()
    return "", ""


def _squeeze(name: str) -> str:
    return re.sub(r"[ _-]", "", name).lower()


def _values_below(lines: Sequence[Line], start: int, name: str) -> tuple[list[tuple[int, str]], int]:
    """Return the values below a directive, and the index of the first line after them."""
    first = start
    while first < len(lines) and lines[first].is_open and lines[first].is_blank:
        first += 1
    if first == len(lines):
        return [], start
    if lines[first].place is Place.FENCE and name in _COMMANDS:
        return _fenced(lines, first)
    if _listed_value(lines[first]) is not None:
        return _list(lines, first)
    if first == start:
        values, end = _plain_lines(lines, first, name)
        return (values, end) if values else ([], start)
    return [], start


def _fenced(lines: Sequence[Line], first: int) -> tuple[list[tuple[int, str]], int]:
    """Return each line of a fenced block, joined with the next one after a backslash."""
    values: list[tuple[int, str]] = []
    joined, start_line, index = "", 0, first + 1
    while index < len(lines) and lines[index].place is Place.FENCED:
        text = lines[index].text.strip()
        start_line = start_line if joined else lines[index].number
        if text.endswith("\\"):
            joined += text[:-1].rstrip() + " "
        else:
            if text and (joined or not text.startswith("#")):
                values.append((start_line, (joined + text).strip()))
            joined = ""
        index += 1
    if joined.strip():
        values.append((start_line, joined.strip()))
    return values, index + 1


def _list(lines: Sequence[Line], first: int) -> tuple[list[tuple[int, str]], int]:
    """Return the items of a list with their continuation lines. Blank lines do not end the list."""
    values: list[tuple[int, str]] = []
    index = end = first
    while index < len(lines) and lines[index].is_open:
        line = lines[index]
        value = _listed_value(line)
        if value is not None:
            values.append((line.number, value))
            end = index + 1
        elif end == index and not line.is_blank and line.indent > lines[first].indent and _is_text(line):
            number, text = values[-1]
            values[-1] = (number, f"{text} {line.text.strip()}")
            end = index + 1
        elif not line.is_blank:
            break
        index += 1
    return values, end


def _listed_value(line: Line) -> str | None:
    """Return an item's text. One with a box is a value only as a command in backticks; else it is the checklist's."""
    item = None if is_directive(line) else list_item(line)
    ticked = box(line)
    if ticked is not None:
        return ticked.text if ticked.text.startswith("`") and ticked.text.endswith("`") else None
    return item


def _plain_lines(lines: Sequence[Line], first: int, name: str) -> tuple[list[tuple[int, str]], int]:
    """Return the lines right below: indented or in backticks; below `Checks:` and `Setup:` any text."""
    values = []
    index = first
    while index < len(lines) and not lines[index].is_blank and _is_text(lines[index]):
        text = lines[index].text
        is_value = text[0] in " \t" or text.startswith("`") or name in (CHECKS, SETUP)
        if not is_value:
            break
        values.append((lines[index].number, text.strip()))
        index += 1
    return values, index


def _is_text(line: Line) -> bool:
    """Return whether the line is not a heading, a box, a list item or a directive."""
    return line.is_open and heading(line) is None and list_item(line) is None and not is_directive(line)


def _warn_if_likely_directive(line: Line, directive: str | None, problems: Problems) -> None:
    """Warn of a line that was probably meant to be a directive but is text."""
    if line.place is Place.COMMENT:
        _warn_if_marked(line, "in a comment", problems)
        return
    if not line.is_open:
        return
    name, value = _split_name(line.text)
    if directive is not None:
        where = "within a task" if directive == SETUP else "above the first task"
        problems.warn(line.number, f"`{directive}:` has no effect {where}")
    elif name in _NAMES:
        problems.warn(line.number, f"`{_NAMES[name]}:` has no effect here, because it is indented like code")
    elif name in _OTHER_TOOLS and value.startswith(("`", "[")):
        problems.warn(line.number, f"this line has no effect; use `{_OTHER_TOOLS[name]}:`")
    elif name and (similar := _similar_directive(name)):
        problems.warn(line.number, f"this line has no effect; did you mean `{similar}:`?")
    elif not name and (torn := _WITHOUT_COLON.match(line.text)):
        problems.warn(line.number, f"this line has no effect; did you mean `{_NAMES[torn[1].lower()]}:`, with a colon?")
    elif not name:
        _warn_if_marked(line, None, problems)


def _warn_if_marked(line: Line, where: str | None, problems: Problems) -> None:
    """Warn of a directive after a mark with which it is only text, or in a comment."""
    marked = _MARKED.match(line.text)
    text = line.text if marked is None else marked["text"]
    name = _NAMES.get(_split_name(text)[0])
    if name is not None and (marked is not None or where is not None):
        place = where or _WITH_MARK.get(marked["mark"][0] if marked is not None else "", _NUMBERED)
        problems.warn(line.number, f"`{name}:` has no effect {place}")


def _warn_if_torn(lines: Sequence[Line], index: int, line: Line, name: str, problems: Problems) -> None:
    """Warn of a value that seems to continue on the next line."""
    value = _directive(line)[1]
    below = lines[index] if index < len(lines) else None
    if value.rstrip("`").endswith("\\") and name in _COMMANDS:
        problems.warn(line.number, f"`{name}:` ends with a backslash, but is one line; write longer ones in a fence")
    elif below is not None and not below.is_blank and below.indent > line.indent and _is_text(below):
        problems.warn(below.number, f"this line is not part of `{name}:` above it")


def _similar_directive(name: str) -> str | None:
    """Return the directive that differs by one typing error."""
    candidates = (known for known in _NAMES if name[0] == known[0] and abs(len(name) - len(known)) <= 1)
    return next((_NAMES[known] for known in close_names(name, candidates, cutoff=_SIMILAR)), None)

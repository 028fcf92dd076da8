"""The directives of a plan (`Check:`, `Needs:`, …), found among lines, with the values beside or below them. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

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

# As people write them, without case, spaces and hyphens.
_NAMES = {
    "check": CHECK,
    "checks": CHECKS,
    "need": NEEDS,
    "needs": NEEDS,
    "mayedit": MAY_EDIT,
    "setup": SETUP,
}
# What other tools call the same thing. Said in a warning, for in prose these words are common.
_ELSEWHERE = {
    "dependson": NEEDS,
    "depends": NEEDS,
    "dependencies": NEEDS,
    "blockedby": NEEDS,
    "maychange": MAY_EDIT,
    "canedit": MAY_EDIT,
    "validationcommands": CHECKS,
    "verify": CHECK,
}

_PREFIX = r"[ \t]*(?:[-*+][ \t]+)?"
_NAME = r"([A-Za-z][A-Za-z _-]{1,29}?)"
_PLAIN = re.compile(rf"{_PREFIX}{_NAME}[ \t]*[:：](.*)\Z", re.DOTALL)
_EMPHASIZED = re.compile(rf"{_PREFIX}([*_]{{1,3}}){_NAME}[ \t]*(?:[:：][ \t]*\1|\1[ \t]*[:：])(.*)\Z", re.DOTALL)
_ALIKE = 0.8


@dataclass(frozen=True, slots=True)
class Directive:
    """One directive with its values: one that stands beside it, or those below."""

    name: str
    line: int
    values: tuple[tuple[int, str], ...]
    """Each with the number of its line."""


def take_directives(
    lines: Sequence[Line], names: Collection[str], problems: Problems
) -> tuple[list[Directive], list[Line]]:
    """The directives of these names among the lines, and the lines that are left."""
    directives: list[Directive] = []
    left: list[Line] = []
    index = 0
    while index < len(lines):
        line = lines[index]
        name, value = _directive(line)
        if name is None or name not in names:
            _warn_of_words(line, name, problems)
            left.append(line)
            index += 1
        elif value:
            directives.append(Directive(name, line.number, ((line.number, value),)))
            index += 1
        else:
            values, index = _below(lines, index + 1, name)
            directives.append(Directive(name, line.number, tuple(values)))
    return directives, left


def is_directive(line: Line) -> bool:
    """Whether the line is a directive."""
    return _directive(line)[0] is not None


def _directive(line: Line) -> tuple[str | None, str]:
    """The directive's name, and what stands beside it."""
    if not line.is_open or line.indent >= CODE_INDENT:
        return None, ""
    found, value = _named(line.text)
    return _NAMES.get(found), value


def _named(text: str) -> tuple[str, str]:
    """The words before a colon, without case, spaces and hyphens; and what stands after it."""
    if found := _PLAIN.match(text):
        return _squeezed(found[1]), found[2].strip()
    if found := _EMPHASIZED.match(text):
        return _squeezed(found[2]), found[3].strip()
    return "", ""


def _squeezed(name: str) -> str:
    return re.sub(r"[ _-]", "", name).lower()


def _below(lines: Sequence[Line], start: int, name: str) -> tuple[list[tuple[int, str]], int]:
    """The values below a directive that has none beside it, and the index of the first line after them."""
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
    """Each line of a fenced block; one that ends in a backslash goes on in the next."""
    values: list[tuple[int, str]] = []
    joined, begun, index = "", 0, first + 1
    while index < len(lines) and lines[index].place is Place.FENCED:
        text = lines[index].text.strip()
        begun = begun if joined else lines[index].number
        if text.endswith("\\"):
            joined += text[:-1].rstrip() + " "
        else:
            if text and (joined or not text.startswith("#")):
                values.append((begun, (joined + text).strip()))
            joined = ""
        index += 1
    if joined.strip():
        values.append((begun, joined.strip()))
    return values, index + 1


def _list(lines: Sequence[Line], first: int) -> tuple[list[tuple[int, str]], int]:
    """Each item of a list, and the lines that go on with an item; blank lines between items do not end it."""
    values: list[tuple[int, str]] = []
    index = end = first
    while index < len(lines) and lines[index].is_open:
        line = lines[index]
        value = _listed_value(line)
        if value is not None:
            values.append((line.number, value))
            end = index + 1
        elif end == index and not line.is_blank and line.indent > lines[first].indent and _is_words(line):
            number, begun = values[-1]
            values[-1] = (number, f"{begun} {line.text.strip()}")
            end = index + 1
        elif not line.is_blank:
            break
        index += 1
    return values, end


def _listed_value(line: Line) -> str | None:
    """An item's words. One with a box is a value only if it is a command in backticks; else it is of the checklist."""
    item = None if is_directive(line) else list_item(line)
    found = box(line)
    if found is not None:
        return found.text if found.text.startswith("`") and found.text.endswith("`") else None
    return item


def _plain_lines(lines: Sequence[Line], first: int, name: str) -> tuple[list[tuple[int, str]], int]:
    """The lines right below: indented, or in backticks; below `Checks:` and `Setup:` whatever stands there."""
    values = []
    index = first
    while index < len(lines) and not lines[index].is_blank and _is_words(lines[index]):
        text = lines[index].text
        is_meant = text[0] in " \t" or text.startswith("`") or name in (CHECKS, SETUP)
        if not is_meant:
            break
        values.append((lines[index].number, text.strip()))
        index += 1
    return values, index


def _is_words(line: Line) -> bool:
    """Whether it is neither a heading, a box, an item nor a directive."""
    return line.is_open and heading(line) is None and list_item(line) is None and not is_directive(line)


def _warn_of_words(line: Line, directive: str | None, problems: Problems) -> None:
    """Say where a line was probably meant to be a directive and is only text."""
    if not line.is_open:
        return
    name, value = _named(line.text)
    if directive is not None:
        where = "within a task" if directive == SETUP else "above the first task"
        problems.warn(line.number, f"`{directive}:` is not read {where}")
    elif name in _NAMES:
        problems.warn(line.number, f"`{_NAMES[name]}:` is indented like code here, and so it is not read")
    elif name in _ELSEWHERE and value.startswith(("`", "[")):
        problems.warn(line.number, f"this is not read; `{_ELSEWHERE[name]}:` would be")
    elif name and (meant := _alike(name)):
        problems.warn(line.number, f"this is not read; did you mean `{meant}:`?")


def _alike(name: str) -> str | None:
    """The directive that is one slip of the hand away."""
    candidates = (known for known in _NAMES if name[0] == known[0] and abs(len(name) - len(known)) <= 1)
    return next((_NAMES[known] for known in close_names(name, candidates, cutoff=_ALIKE)), None)

"""The directives of a plan (`Check:`, `Needs:`, …) with their values, parsed from lines. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from msgspec import Struct

from bridle.ground.suggest import close_names
from bridle.loop.plan import likely_directives
from bridle.loop.plan.likely_directives import squeeze
from bridle.loop.plan.markdown_lines import CODE_INDENT, Line, Place, box, heading, is_rule, list_item
from bridle.loop.plan.problems import Problems
from bridle.loop.text.lookalikes import find_invisible

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
    "after": NEEDS,
    "requires": NEEDS,
    "prerequisite": NEEDS,
    "prerequisites": NEEDS,
    "maychange": MAY_EDIT,
    "canedit": MAY_EDIT,
    "maymodify": MAY_EDIT,
    "canmodify": MAY_EDIT,
    "validationcommands": CHECKS,
    "verify": CHECK,
    "test": CHECK,
    "tests": CHECK,
    "validate": CHECK,
    "validation": CHECK,
    "verification": CHECK,
    "acceptance": CHECK,
    "testcommand": CHECK,
    "verifycommand": CHECK,
    "acceptancecheck": CHECK,
    "acceptancechecks": CHECKS,
}
# Words that no prose begins with; the others need a command.
_UNAMBIGUOUS = frozenset({"maychange", "canedit", "maymodify", "canmodify", "validationcommands", "blockedby"})
_PREFIX = r"[ \t]*(?:[-*+][ \t]+)?"
_NAME = r"([A-Za-z][A-Za-z _-]{1,29}?)"
_PLAIN = re.compile(rf"{_PREFIX}{_NAME}[ \t]*[:：](.*)\Z", re.DOTALL)
_EMPHASIZED = re.compile(rf"{_PREFIX}([*_]{{1,3}}){_NAME}[ \t]*(?:[:：][ \t]*\1|\1[ \t]*[:：])(.*)\Z", re.DOTALL)
_SIMILAR = 0.8
TASK_LEVEL = 2
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")


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
            _warn_if_without_colon(lines, index, name, problems)
            rest.append(line)
            index += 1
        elif value:
            directives.append(Directive(name, line.number, ((line.number, value),)))
            index += 1
            _warn_if_torn(lines, index, line, name, problems)
        else:
            values, index = _values_below(lines, index + 1, name)
            directives.append(Directive(name, line.number, tuple(values)))
    for directive in directives:
        _warn_of_values(directive, problems)
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
        return squeeze(match[1]), match[2].strip()
    if match := _EMPHASIZED.match(text):
        return squeeze(match[2]), match[3].strip()
    return "", ""


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
    while index < len(lines) and not lines[index].is_blank and _is_text(lines[index]) and not is_rule(lines[index]):
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
        _warn_if_in_comment(line, problems)
        return
    if not line.is_open:
        return
    name, value = _split_name(line.text)
    if directive is not None:
        where = "within a task" if directive == SETUP else "above the first task"
        problems.warn(line.number, f"`{directive}:` has no effect {where}")
    elif name in _NAMES:
        problems.warn(line.number, f"`{_NAMES[name]}:` has no effect here, because it is indented like code")
    elif name in _OTHER_TOOLS and (value.startswith(("`", "[")) or name in _UNAMBIGUOUS):
        problems.warn(line.number, f"this line has no effect; use `{_OTHER_TOOLS[name]}:`")
    elif name and (similar := _similar_directive(name)):
        problems.warn(line.number, f"this line has no effect; did you mean `{similar}:`?")
    else:
        _warn_if_marked(line, line.text, problems)


def _warn_if_in_comment(line: Line, problems: Problems) -> None:
    """Warn of a directive in a comment, and of a directive or a task on the line where the comment ends."""
    before, end, after = line.text.rpartition("-->")
    if not end or not after.strip():
        _warn_if_marked(line, before if end else line.text, problems, "in a comment")
    elif (head := heading(Line(line.number, after.strip()))) is not None and head.level <= TASK_LEVEL:
        problems.warn(line.number, "this heading has no effect after a comment; begin the line with it")
    else:
        _warn_if_marked(line, end + after, problems)


def _warn_if_marked(line: Line, text: str, problems: Problems, place: str | None = None) -> None:
    """Warn of a directive whose word has marks around it with which it is only text."""
    reading = likely_directives.read_line(text)
    name = _NAMES.get(reading.word) if reading is not None else None
    if reading is None:
        pass
    elif name is not None and (reading.has_command or not reading.is_prose or (name == MAY_EDIT and reading.has_paths)):
        known = f"`{name}:` has no effect {place or reading.place}"
        without_colon = f"this line has no effect; did you mean `{name}:`, with a colon?"
        problems.warn(line.number, known if reading.has_sign else without_colon)
        return
    elif reading.word in _OTHER_TOOLS and reading.has_sign and reading.has_command:
        problems.warn(line.number, f"this line has no effect; use `{_OTHER_TOOLS[reading.word]}:`")
        return
    if place is None and (later := likely_directives.find_later(text)) is not None:
        problems.warn(line.number, f"`{later}:` has no effect after other text; begin a line with it")


def _warn_if_without_colon(lines: Sequence[Line], index: int, directive: str | None, problems: Problems) -> None:
    """Warn of a directive's word that is alone on its line, with commands below it."""
    line = lines[index]
    name = _NAMES.get(likely_directives.read_alone(line.text)) if line.is_open and directive is None else None
    below = next((one for one in lines[index + 1 :] if not one.is_blank), None)
    if name not in (CHECK, CHECKS, MAY_EDIT) or below is None:
        return
    is_defined = below.number == line.number + 1 and below.text.lstrip().startswith(":")
    if (
        is_defined
        or below.place is Place.FENCE
        or likely_directives.is_command(list_item(below) or "")
        or _lists_paths(name, below)
    ):
        problems.warn(line.number, f"this line has no effect; did you mean `{name}:`, with a colon?")


def _lists_paths(name: str, below: Line) -> bool:
    return name == MAY_EDIT and likely_directives.is_paths(list_item(below) or "")


def _warn_of_values(directive: Directive, problems: Problems) -> None:
    """Warn of values that hold more than their command, pattern or title."""
    for number, value in directive.values:
        if "<!--" in value:
            problems.warn(number, f"the comment is part of the value of `{directive.name}:`; write it on its own line")
        elif directive.name in (MAY_EDIT, NEEDS) and (other := likely_directives.find_within(value)) is not None:
            problems.warn(number, f"`{other}:` has no effect after `{directive.name}:`; begin a line with it")
        if (odd := find_invisible(_QUOTED.sub("", value))) is not None:
            problems.warn(
                number, f"the value of `{directive.name}:` has the character {odd}, which a shell does not skip"
            )


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

"""Sections of a Markdown plan: the part above the first task, and one section a task. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec import Struct, field

from bridle.loop.plan.directives import TASK_LEVEL, Directive, take_directives
from bridle.loop.plan.markdown_lines import Heading, Line, box, heading
from bridle.loop.plan.problems import Problems


class Section(Struct):
    """The lines under one heading, up to the next `# ` or `## `."""

    line: int = 0
    heading: Heading | None = None
    """None above the first heading."""
    lines: list[Line] = field(default_factory=list)

    @property
    def is_task(self) -> bool:
        return self.heading is not None and self.heading.level == TASK_LEVEL


class Entry(Struct, frozen=True):
    """One item of a checklist."""

    line: int
    text: str
    is_ticked: bool


class Content(Struct, frozen=True):
    """The parsed lines of a section."""

    directives: list[Directive]
    checklist: list[Entry]
    body: str


def sections(lines: Sequence[Line]) -> list[Section]:
    """Split lines into the section above the first heading and one for each `# ` and `## ` heading."""
    parts = [Section()]
    for line in lines:
        head = heading(line)
        if head is not None and head.level <= TASK_LEVEL:
            parts.append(Section(line.number, head))
        else:
            parts[-1].lines.append(line)
    return parts


def content(section: Section, names: Collection[str], problems: Problems) -> Content:
    """Parse the directives of these names, the checklist and the remaining text of a section."""
    directives, rest = take_directives(section.lines, names, problems)
    checklist, rest = _take_checklist(rest)
    return Content(directives, checklist, _text(rest))


def _take_checklist(lines: Sequence[Line]) -> tuple[list[Entry], list[Line]]:
    """Return the checklist entries, with the deeper lines right below each, and the remaining lines."""
    entries: list[Entry] = []
    rest: list[Line] = []
    inside: Line | None = None
    for line in lines:
        item = box(line)
        if item is not None:
            entries.append(Entry(line.number, item.text, item.is_ticked))
            inside = line
        elif inside is not None and _continues(line, inside):
            last = entries[-1]
            entries[-1] = Entry(last.line, f"{last.text}\n{line.text.strip()}", last.is_ticked)
        else:
            inside = None
            rest.append(line)
    return entries, rest


def _continues(line: Line, item: Line) -> bool:
    if not line.is_open or line.is_blank or heading(line) is not None:
        return False
    return line.indent > item.indent


def _text(lines: Sequence[Line]) -> str:
    """Join the lines, without blank ones at both ends."""
    return "\n".join(line.text.rstrip() for line in lines).strip("\n")

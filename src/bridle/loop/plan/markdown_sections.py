"""A Markdown text as sections: what stands above the first task, and each task with its lines. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from bridle.loop.plan.directives import Directive, take_directives
from bridle.loop.plan.markdown_lines import Heading, Line, box, heading
from bridle.loop.plan.problems import Problems

TASK_LEVEL = 2


@dataclass(slots=True)
class Section:
    """The lines under one heading, up to the next of its kind."""

    line: int = 0
    heading: Heading | None = None
    """None above the first heading."""
    lines: list[Line] = field(default_factory=list)

    @property
    def is_task(self) -> bool:
        """Whether it is a `## ` section."""
        return self.heading is not None and self.heading.level == TASK_LEVEL


@dataclass(frozen=True, slots=True)
class Entry:
    """One item of a checklist."""

    line: int
    text: str
    is_ticked: bool


@dataclass(frozen=True, slots=True)
class Content:
    """What the lines of a section say."""

    directives: list[Directive]
    checklist: list[Entry]
    body: str


def sections(lines: Sequence[Line]) -> list[Section]:
    """The section above the first heading, then one for each `# ` and `## ` heading."""
    found = [Section()]
    for line in lines:
        head = heading(line)
        if head is not None and head.level <= TASK_LEVEL:
            found.append(Section(line.number, head))
        else:
            found[-1].lines.append(line)
    return found


def content(section: Section, names: Collection[str], problems: Problems) -> Content:
    """The directives of these names, the checklist and the other words of a section."""
    directives, left = take_directives(section.lines, names, problems)
    checklist, left = _take_checklist(left)
    return Content(directives, checklist, _text(left))


def _take_checklist(lines: Sequence[Line]) -> tuple[list[Entry], list[Line]]:
    """The boxes, each with the deeper lines right below it; and the lines that are left."""
    entries: list[Entry] = []
    left: list[Line] = []
    inside: Line | None = None
    for line in lines:
        found = box(line)
        if found is not None:
            entries.append(Entry(line.number, found.text, found.is_ticked))
            inside = line
        elif inside is not None and _goes_on(line, inside):
            last = entries[-1]
            entries[-1] = Entry(last.line, f"{last.text}\n{line.text.strip()}", last.is_ticked)
        else:
            inside = None
            left.append(line)
    return entries, left


def _goes_on(line: Line, item: Line) -> bool:
    """Whether the line belongs to the item above it."""
    if not line.is_open or line.is_blank or heading(line) is not None:
        return False
    return line.indent > item.indent


def _text(lines: Sequence[Line]) -> str:
    """The lines as they stand, without blank ones at both ends."""
    return "\n".join(line.text.rstrip() for line in lines).strip("\n")

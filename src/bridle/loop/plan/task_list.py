"""Plain lists of boxes as plans: each `- [ ]` is a task, as other tools read a PRD.md. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from msgspec import Struct

from bridle.loop.plan import directives
from bridle.loop.plan.dependencies import title_key
from bridle.loop.plan.markdown import commands_of, refuse_controls
from bridle.loop.plan.markdown_lines import Line, box, read_lines
from bridle.loop.plan.markdown_sections import Section, content, sections
from bridle.loop.plan.model import MARKDOWN, Item, Plan, Task
from bridle.loop.plan.problems import NO_CHECKS, NO_SETTINGS_FILE, Problems
from bridle.loop.plan.titles import cut_title, with_whole_text

# A section of this name is a list of tasks, and not a task with a checklist.
LIST_TITLES = frozenset({"tasks", "task list", "to do", "to-do", "todo", "todos", "backlog"})
# Other tools read every box of a file of these names as a task, whichever section it is in.
LIST_NAMES = re.compile(r"(?:.*[/\\])?(?:prd|@?fix_plan)\.md\Z", re.IGNORECASE)

_BOX = re.compile(r"\[.?\](?=[ \t])")


class ListedTask(Struct, frozen=True):
    """One box that is a task, with what is indented below it."""

    title: str
    line: int
    is_ticked: bool
    below: tuple[Line, ...] = ()
    text: str = ""
    """What the box says, of which the title may be the beginning."""


def is_task_list(text: str, source: str) -> bool:
    """Return whether a Markdown text is a list of boxes and not a plan of sections.

    It is if it has boxes, none of its `## ` sections has a directive, and there is no `## ` section, or only sections
    that are called a list have boxes, or the file is called PRD.md or fix_plan.md.
    """
    parts = sections(read_lines(text, Problems("")))
    tasks = [part for part in parts if part.is_task]
    if not any(_boxes(part.lines) for part in parts):
        return False
    if any(content(part, directives.OF_A_TASK, Problems("")).directives for part in tasks):
        return False
    if not tasks or LIST_NAMES.match(source):
        return True
    with_boxes = [part for part in tasks if _boxes(part.lines)]
    return bool(with_boxes) and all(map(_is_list_title, with_boxes))


def parse_task_list(
    text: str,
    source: str,
    *,
    path: str | None = None,
    guard: Sequence[str] = (),
    setup: Sequence[str] = (),
    has_settings_file: bool = True,
) -> Plan:
    """Parse a list of boxes. Raises PlanError with every problem.

    Guard and setup are those of the settings, used if the file has no `Checks:` or `Setup:` of its own.
    """
    problems = Problems(source)
    refuse_controls(text, problems)
    problems.refuse()
    parts = sections(read_lines(text, problems))
    listed = listed_tasks(text)
    own_guard, own_setup = _head_commands(parts, problems)
    tasks = tuple(_task(one) for one in listed if not one.is_ticked)
    if not tasks:
        problems.add(0, "every box is ticked, so nothing is left to do")
    if tasks and not (own_guard or guard):
        problems.warn(0, NO_CHECKS if has_settings_file else NO_SETTINGS_FILE)
    problems.refuse()
    title = next((part.heading.title for part in parts if part.heading is not None and part.heading.level == 1), "")
    return Plan(
        title=title or source.rsplit("/", 1)[-1].removesuffix(".md"),
        text=text,
        tasks=tasks,
        guard=own_guard or tuple(guard),
        setup=own_setup or tuple(setup),
        kind=MARKDOWN,
        source=source,
        path=path,
        left_out=tuple(one.title for one in listed if one.is_ticked),
        warnings=problems.warnings(),
    )


def listed_tasks(text: str) -> list[ListedTask]:
    """Return the outermost boxes; of two with the same text, the second one's title names its line."""
    found: list[ListedTask] = []
    seen: set[str] = set()
    for line, below in _boxes(read_lines(text, Problems(""))):
        item = box(line)
        if item is None:
            continue
        title = cut_title(item.text)
        if title_key(title) in seen:
            title = f"{cut_title(title, 20)} (line {line.number})"
        seen.add(title_key(title))
        found.append(ListedTask(title, line.number, item.is_ticked, tuple(below), item.text))
    return found


def tick_task_list(text: str, titles: Collection[str]) -> tuple[str, list[str]]:
    """Return the text with the boxes of these tasks ticked, and the titles that changed."""
    start = "\ufeff" if text.startswith("\ufeff") else ""
    lines = text.removeprefix("\ufeff").split("\n")
    wanted = {title_key(title) for title in titles}
    ticked = []
    for task in listed_tasks("\n".join(lines)):
        if title_key(task.title) not in wanted or task.is_ticked:
            continue
        inner = [line.number for line in task.below if (item := box(line)) is not None and not item.is_ticked]
        for number in (task.line, *inner):
            lines[number - 1] = _BOX.sub("[x]", lines[number - 1], count=1)
        ticked.append(task.title)
    return start + "\n".join(lines), ticked


def _boxes(lines: Sequence[Line]) -> list[tuple[Line, list[Line]]]:
    """Return the outermost boxes, each with the lines that are indented more, right below it."""
    found: list[tuple[Line, list[Line]]] = []
    is_inside = False
    for line in lines:
        if is_inside and (not line.is_open or line.is_blank or line.indent > found[-1][0].indent):
            found[-1][1].append(line)
        elif box(line) is not None:
            found.append((line, []))
            is_inside = True
        else:
            is_inside = False
    return found


def _task(listed: ListedTask) -> Task:
    checklist = tuple(Item(item.text, item.is_ticked) for line in listed.below if (item := box(line)) is not None)
    text = "\n".join(line.text.strip() for line in listed.below if box(line) is None).strip("\n")
    return Task(
        title=listed.title, body=with_whole_text(listed.text, listed.title, text), checklist=checklist, line=listed.line
    )


def _head_commands(parts: Sequence[Section], problems: Problems) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return `Checks:` and `Setup:` above the first `## ` section."""
    guard: list[str] = []
    setup: list[str] = []
    for part in _above_first_task(parts):
        for directive in content(part, directives.OF_A_PLAN, problems).directives:
            if directive.name in (directives.CHECK, directives.CHECKS):
                guard += commands_of(directive, problems)
            elif directive.name == directives.SETUP:
                setup += commands_of(directive, problems)
    return tuple(dict.fromkeys(guard)), tuple(setup)


def _above_first_task(parts: Sequence[Section]) -> Iterator[Section]:
    for part in parts:
        if part.is_task:
            return
        yield part


def _is_list_title(part: Section) -> bool:
    return part.heading is not None and part.heading.title.rstrip(":").casefold() in LIST_TITLES

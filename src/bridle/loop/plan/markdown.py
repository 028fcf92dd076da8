"""A plan out of Markdown: `## ` sections are tasks, directives say how each is checked. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from bridle.loop.plan import directive_values, directives
from bridle.loop.plan.dependencies import Titles, cycles, title_key
from bridle.loop.plan.directives import Directive
from bridle.loop.plan.markdown_lines import read_lines
from bridle.loop.plan.markdown_sections import Section, content, sections
from bridle.loop.plan.model import MARKDOWN, Item, Plan, Task
from bridle.loop.plan.problems import Problems

Value = TypeVar("Value")

# A title goes into a commit's trailer, a receipt's column and a log's name.
TITLE_LIMIT_CHARACTERS = 200
# All but the tab; and halves of characters, which no file can hold.
CONTROL = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\ud800-\udfff]")
# Each unknown name is compared with every title.
_MOST_GUESSES = 20


@dataclass(slots=True)
class _Draft:
    """A task as far as it has been read."""

    title: str
    line: int
    body: str = ""
    checklist: tuple[Item, ...] = ()
    is_ticked: bool = False
    checks: list[str] = field(default_factory=list)
    needs: list[tuple[int, str]] = field(default_factory=list)
    may_edit: list[str] = field(default_factory=list)


def parse_markdown(text: str, source: str, *, path: str | None = None, setup: Sequence[str] = ()) -> Plan:
    """The plan; PlanError with everything that is wrong. `setup` is that of the settings, where the plan has none."""
    problems = Problems(source)
    refuse_controls(text, problems)
    problems.refuse()
    parts = sections(read_lines(text, problems))
    first = next((index for index, part in enumerate(parts) if part.is_task), len(parts))
    head = _read_head(parts[:first], problems)
    drafts = [_read_task(part, problems) for part in parts[first:] if part.is_task]
    _refuse_strays([part for part in parts[first:] if not part.is_task], problems)
    _refuse_duplicates(drafts, problems)
    tasks = _tasks(drafts, head.may_edit, problems)
    _say_what_is_missing(drafts, tasks, head, problems)
    problems.refuse()
    return Plan(
        title=head.title or source.rsplit("/", 1)[-1].removesuffix(".md"),
        text=text,
        tasks=tasks,
        guard=tuple(head.guard),
        setup=tuple(head.setup) or tuple(setup),
        kind=MARKDOWN,
        source=source,
        path=path,
        left_out=tuple(draft.title for draft in drafts if draft.is_ticked),
        warnings=problems.warnings(),
    )


def refuse_controls(text: str, problems: Problems) -> None:
    """Characters that no person types: what a terminal shows of such a text is not what it says."""
    for number, line in enumerate(text.split("\n"), 1):
        wrong = CONTROL.search(line.rstrip("\r"))
        if wrong is not None:
            is_return = wrong[0] == "\r"
            what = "a carriage return within the line" if is_return else f"the control character {wrong[0]!r}"
            problems.add(number, f"there is {what}; remove it")


@dataclass(slots=True)
class _Head:
    """What stands above the first task."""

    title: str = ""
    guard: list[str] = field(default_factory=list)
    setup: list[str] = field(default_factory=list)
    may_edit: list[str] = field(default_factory=list)


def _read_head(parts: Iterable[Section], problems: Problems) -> _Head:
    head = _Head()
    for part in parts:
        head.title = head.title or (part.heading.title if part.heading else "")
        for one in content(part, directives.OF_A_PLAN, problems).directives:
            match one.name:
                case directives.CHECK | directives.CHECKS:
                    head.guard += _commands(one, problems)
                case directives.SETUP:
                    head.setup += _commands(one, problems)
                case directives.MAY_EDIT:
                    head.may_edit += _patterns(one, problems)
    head.guard = list(dict.fromkeys(head.guard))
    return head


def _read_task(part: Section, problems: Problems) -> _Draft:
    heading = part.heading
    draft = _Draft(heading.title if heading else "", part.line)
    _check_title(draft, problems)
    found = content(part, directives.OF_A_TASK, problems)
    draft.body = found.body
    draft.checklist = tuple(Item(entry.text, entry.is_ticked) for entry in found.checklist)
    ticked = heading.is_ticked if heading else None
    all_ticked = bool(draft.checklist) and all(item.is_ticked for item in draft.checklist)
    draft.is_ticked = all_ticked if ticked is None else ticked
    for one in found.directives:
        match one.name:
            case directives.CHECK | directives.CHECKS:
                draft.checks += _commands(one, problems)
            case directives.NEEDS:
                draft.needs += _needs(one, problems)
            case directives.MAY_EDIT:
                draft.may_edit += _patterns(one, problems)
    draft.checks = list(dict.fromkeys(draft.checks))
    return draft


def _check_title(draft: _Draft, problems: Problems) -> None:
    if not draft.title:
        problems.add(draft.line, "this task has no title; write one after `## `")
    elif len(draft.title) > TITLE_LIMIT_CHARACTERS:
        problems.add(draft.line, f"this title is longer than {TITLE_LIMIT_CHARACTERS} characters; shorten it")


def _commands(one: Directive, problems: Problems) -> list[str]:
    if not one.values:
        problems.add(one.line, f"`{one.name}:` has no command; write it on the same line, or as a list below")
    return [command for _, command in _each(one, directive_values.commands, problems)]


def _patterns(one: Directive, problems: Problems) -> list[str]:
    if not one.values:
        problems.warn(one.line, f"`{one.name}:` names no file")
    return [pattern for _, pattern in _each(one, directive_values.patterns, problems)]


def _needs(one: Directive, problems: Problems) -> list[tuple[int, str]]:
    if not one.values:
        problems.warn(one.line, f"`{one.name}:` names no task")
    return _each(one, lambda value: [directive_values.titles(value)], problems)


def _each(one: Directive, read: Callable[[str], list[Value]], problems: Problems) -> list[tuple[int, Value]]:
    """What stands in each of its values, with the line that it stands on."""
    found: list[tuple[int, Value]] = []
    for line, value in one.values:
        try:
            found += [(line, each) for each in read(value)]
        except ValueError as error:
            problems.add(line, f"`{one.name}:` cannot be read: {error}")
    return found


def _refuse_strays(parts: Iterable[Section], problems: Problems) -> None:
    """A `# ` heading after the first task ends that task; directives below it belong to nobody."""
    for part in parts:
        for one in content(part, directives.ALL, problems).directives:
            problems.add(one.line, f"`{one.name}:` stands under no task; move it above the first task, or into one")


def _refuse_duplicates(drafts: Iterable[_Draft], problems: Problems) -> None:
    seen: dict[str, _Draft] = {}
    for draft in drafts:
        first = seen.setdefault(title_key(draft.title), draft)
        if draft.title and first is not draft:
            problems.add(draft.line, f"the title {draft.title!r} is taken by line {first.line}; give it another one")


def _tasks(drafts: Sequence[_Draft], may_edit: Sequence[str], problems: Problems) -> tuple[Task, ...]:
    titles = Titles(draft.title for draft in drafts if draft.title)
    needs = {draft.title: _found_needs(draft, titles, problems) for draft in drafts}
    counted = Counter(title_key(draft.title) for draft in drafts)
    # Of tasks that share a title, nobody can say who waits for whom.
    alone = {title: others for title, others in needs.items() if counted[title_key(title)] == 1}
    refuse_cycles(alone, {draft.title: draft.line for draft in drafts}, problems)
    done = {draft.title for draft in drafts if draft.is_ticked}
    return tuple(
        Task(
            title=draft.title,
            body=draft.body,
            checklist=draft.checklist,
            checks=tuple(draft.checks),
            needs=tuple(title for title in needs[draft.title] if title not in done),
            may_edit=tuple(dict.fromkeys([*may_edit, *draft.may_edit])),
            line=draft.line,
        )
        for draft in drafts
        if not draft.is_ticked
    )


def refuse_cycles(needs: Mapping[str, Sequence[str]], lines: Mapping[str, int], problems: Problems) -> None:
    """Tasks that wait for each other would wait for ever."""
    for ring in cycles(needs):
        told = " → ".join(repr(title) for title in ring)
        words = f"these tasks wait for each other: {told}; take one of these needs away"
        problems.add(lines[ring[0]], "this task needs itself" if len(ring) == 2 else words)


def _found_needs(draft: _Draft, titles: Titles, problems: Problems) -> list[str]:
    found: list[str] = []
    for line, words in draft.needs:
        known, unknown = titles.find(words)
        found += known
        for name in unknown:
            near = titles.near(name) if len(problems.found) < _MOST_GUESSES else []
            meant = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
            problems.add(line, f"`Needs:` names {name!r}, and no task has that title{meant}")
    return list(dict.fromkeys(found))


def _say_what_is_missing(drafts: Sequence[_Draft], tasks: Sequence[Task], head: _Head, problems: Problems) -> None:
    if not drafts:
        problems.add(0, "there is no task; each task is a section that begins with `## ` and a title")
    elif not tasks:
        problems.add(0, "every task is ticked, so nothing is left to do")
    done = [draft for draft in drafts if draft.is_ticked]
    if done:
        told = ", ".join(repr(draft.title) for draft in done)
        problems.warn(done[0].line, f"ticked, and so left out: {told}")
    unchecked = [task for task in tasks if not task.checks and not head.guard]
    if unchecked:
        told = ", ".join(repr(task.title) for task in unchecked)
        problems.warn(unchecked[0].line, f"no check, and so at best unverified: {told}")

"""Markdown plans: `## ` sections are tasks, and directives name their checks. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from msgspec import Struct, field

from bridle.loop.plan import directive_values, directives, likely_directives
from bridle.loop.plan.dependencies import Titles, cycles, title_key
from bridle.loop.plan.directives import Directive, is_directive
from bridle.loop.plan.markdown_lines import CODE_INDENT, Line, heading, is_rule, is_underline, list_item, read_lines
from bridle.loop.plan.markdown_sections import Section, content, sections
from bridle.loop.plan.model import MARKDOWN, Item, Plan, Task
from bridle.loop.plan.problems import Problems
from bridle.loop.plan.titles import TITLE_LIMIT_CHARACTERS

Value = TypeVar("Value")

# All but the tab; and surrogates, which no UTF-8 file can hold.
CONTROL = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\ud800-\udfff]")
# A line above `---` that ends with one is prose above a rule.
_ENDS_OF_SENTENCES = ".!?:;,"
# A list or a directive further above has no part in it.
_MOST_LINES = 50
# Each suggestion compares a name with every title.
_MOST_SUGGESTIONS = 20


class _Draft(Struct):
    """A task while it is parsed."""

    title: str
    line: int
    body: str = ""
    checklist: tuple[Item, ...] = ()
    is_ticked: bool = False
    checks: list[str] = field(default_factory=list)
    needs: list[tuple[int, str]] = field(default_factory=list)
    may_edit: list[str] = field(default_factory=list)


def parse_markdown(text: str, source: str, *, path: str | None = None, setup: Sequence[str] = ()) -> Plan:
    """Parse a Markdown plan. Raises PlanError with every problem.

    `setup` is that of the settings, used if the plan has no `Setup:`.
    """
    problems = Problems(source)
    refuse_controls(text, problems)
    problems.refuse()
    lines = read_lines(text, problems)
    _warn_of_underlined(lines, problems)
    parts = sections(lines)
    first = next((index for index, part in enumerate(parts) if part.is_task), len(parts))
    head = _read_head(parts[:first], problems)
    drafts = [_read_task(part, problems) for part in parts[first:] if part.is_task]
    _refuse_strays([part for part in parts[first:] if not part.is_task], problems)
    _refuse_duplicates(drafts, problems)
    titles = Titles(draft.title for draft in drafts if draft.title)
    _warn_of_ignored_needs(parts[first:], titles, problems)
    tasks = _tasks(drafts, titles, head.may_edit, problems)
    _report_missing(drafts, tasks, head, problems)
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


def _warn_of_underlined(lines: Sequence[Line], problems: Problems) -> None:
    """Warn of headings that are underlined: only `## ` begins a task."""
    paragraph: list[Line] = []
    for line in lines:
        if paragraph and is_underline(line) and _is_title(paragraph):
            number = paragraph[-1].number
            problems.warn(number, "this underlined line is not read as a heading; begin it with `# ` or `## `")
        ends = line.is_blank or not line.is_open or heading(line) is not None
        paragraph = [] if ends else [*paragraph[-_MOST_LINES:], line]


def _is_title(paragraph: Sequence[Line]) -> bool:
    """Return whether an underline makes the last line a heading, and no rule below a list, a directive or prose."""
    first, last = paragraph[0], paragraph[-1]
    is_other = any(is_directive(line) or list_item(line) is not None or is_rule(line) for line in paragraph)
    if is_other or first.indent >= CODE_INDENT or first.text.lstrip().startswith((">", "|", "<")):
        return False
    return len(paragraph) == 1 or last.text.rstrip()[-1] not in _ENDS_OF_SENTENCES


def _warn_of_ignored_needs(parts: Iterable[Section], titles: Titles, problems: Problems) -> None:
    """Warn of lines such as `After: Title` that name only titles but are text."""
    warned = {problem.line for problem in problems.cautions}
    pairs = (pair for part in parts for pair in zip(part.lines, [*part.lines[1:], Line(0, "")], strict=False))
    for line, below in pairs:
        if not line.is_open or line.number in warned or is_directive(line):
            continue
        names = likely_directives.find_needed(line.text, list_item(below) or below.text)
        known, unknown = titles.find(names) if names else ([], [])
        if known and not unknown:
            problems.warn(line.number, "this line has no effect; use `Needs:`")


def refuse_controls(text: str, problems: Problems) -> None:
    """Report control characters: a terminal would not show such a text as it is."""
    for number, line in enumerate(text.split("\n"), 1):
        control = CONTROL.search(line.rstrip("\r"))
        if control is not None:
            is_return = control[0] == "\r"
            character = "a carriage return within the line" if is_return else f"the control character {control[0]!r}"
            problems.add(number, f"remove {character}")


class _Head(Struct):
    """The part above the first task."""

    title: str = ""
    guard: list[str] = field(default_factory=list)
    setup: list[str] = field(default_factory=list)
    may_edit: list[str] = field(default_factory=list)


def _read_head(parts: Iterable[Section], problems: Problems) -> _Head:
    head = _Head()
    for part in parts:
        head.title = head.title or (part.heading.title if part.heading else "")
        for directive in content(part, directives.OF_A_PLAN, problems).directives:
            match directive.name:
                case directives.CHECK | directives.CHECKS:
                    head.guard += commands_of(directive, problems)
                case directives.SETUP:
                    head.setup += commands_of(directive, problems)
                case directives.MAY_EDIT:
                    head.may_edit += _patterns(directive, problems)
    head.guard = list(dict.fromkeys(head.guard))
    return head


def _read_task(part: Section, problems: Problems) -> _Draft:
    head = part.heading
    draft = _Draft(head.title if head else "", part.line)
    _check_title(draft, problems)
    section = content(part, directives.OF_A_TASK, problems)
    draft.body = section.body
    draft.checklist = tuple(Item(entry.text, entry.is_ticked) for entry in section.checklist)
    ticked = head.is_ticked if head else None
    all_ticked = bool(draft.checklist) and all(item.is_ticked for item in draft.checklist)
    draft.is_ticked = all_ticked if ticked is None else ticked
    for directive in section.directives:
        match directive.name:
            case directives.CHECK | directives.CHECKS:
                draft.checks += commands_of(directive, problems)
            case directives.NEEDS:
                draft.needs += _needs(directive, problems)
            case directives.MAY_EDIT:
                draft.may_edit += _patterns(directive, problems)
    draft.checks = list(dict.fromkeys(draft.checks))
    return draft


def _check_title(draft: _Draft, problems: Problems) -> None:
    if not draft.title:
        problems.add(draft.line, "this task has no title. Write one after `## `.")
    elif len(draft.title) > TITLE_LIMIT_CHARACTERS:
        problems.add(
            draft.line, f"the title must be at most {TITLE_LIMIT_CHARACTERS} characters, got {len(draft.title)}"
        )


def commands_of(directive: Directive, problems: Problems) -> list[str]:
    """Return the commands of a directive."""
    if not directive.values:
        problems.add(
            directive.line, f"`{directive.name}:` has no command. Write it on the same line or as a list below."
        )
    return [command for _, command in _read_values(directive, directive_values.commands, problems)]


def _patterns(directive: Directive, problems: Problems) -> list[str]:
    if not directive.values:
        problems.warn(directive.line, f"`{directive.name}:` names no file")
    return [pattern for _, pattern in _read_values(directive, directive_values.patterns, problems)]


def _needs(directive: Directive, problems: Problems) -> list[tuple[int, str]]:
    if not directive.values:
        problems.warn(directive.line, f"`{directive.name}:` names no task")
    return _read_values(directive, lambda value: [directive_values.titles(value)], problems)


def _read_values(
    directive: Directive, read: Callable[[str], list[Value]], problems: Problems
) -> list[tuple[int, Value]]:
    """Read each value of a directive; return the results with their lines."""
    results: list[tuple[int, Value]] = []
    for line, text in directive.values:
        try:
            results += [(line, value) for value in read(text)]
        except ValueError as error:
            problems.add(line, f"invalid `{directive.name}:`: {error}")
    return results


def _refuse_strays(parts: Iterable[Section], problems: Problems) -> None:
    """Report directives below a `# ` heading after the first task: they belong to no task."""
    for part in parts:
        for directive in content(part, directives.ALL, problems).directives:
            message = f"`{directive.name}:` belongs to no task. Move it above the first task or into a task."
            problems.add(directive.line, message)


def _refuse_duplicates(drafts: Iterable[_Draft], problems: Problems) -> None:
    seen: dict[str, _Draft] = {}
    for draft in drafts:
        first = seen.setdefault(title_key(draft.title), draft)
        if draft.title and first is not draft:
            problems.add(
                draft.line, f"duplicate title {draft.title!r}, first on line {first.line}. Rename one of them."
            )


def _tasks(drafts: Sequence[_Draft], titles: Titles, may_edit: Sequence[str], problems: Problems) -> tuple[Task, ...]:
    needs = {draft.title: _resolve_needs(draft, titles, problems) for draft in drafts}
    title_counts = Counter(title_key(draft.title) for draft in drafts)
    # Dependencies of tasks that share a title are ambiguous.
    unique = {title: others for title, others in needs.items() if title_counts[title_key(title)] == 1}
    refuse_cycles(unique, {draft.title: draft.line for draft in drafts}, problems)
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
    """Report tasks that need each other: none of them could ever start."""
    for cycle in cycles(needs):
        path = " → ".join(repr(title) for title in cycle)
        message = f"dependency cycle: {path}. Remove one of these needs."
        problems.add(lines[cycle[0]], "this task needs itself" if len(cycle) == 2 else message)


def _resolve_needs(draft: _Draft, titles: Titles, problems: Problems) -> list[str]:
    resolved: list[str] = []
    for line, text in draft.needs:
        known, unknown = titles.find(text)
        resolved += known
        for name in unknown:
            near = titles.near(name) if len(problems.errors) < _MOST_SUGGESTIONS else []
            suggestion = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
            problems.add(line, f"`Needs:` names {name!r}, but no task has that title{suggestion}")
    return list(dict.fromkeys(resolved))


def _report_missing(drafts: Sequence[_Draft], tasks: Sequence[Task], head: _Head, problems: Problems) -> None:
    if not drafts:
        problems.add(0, "the plan has no task. Begin each task with `## ` and a title.")
    elif not tasks:
        problems.add(0, "every task is ticked, so nothing is left to do")
    done = [draft for draft in drafts if draft.is_ticked]
    if done:
        listed = ", ".join(repr(draft.title) for draft in done)
        problems.warn(done[0].line, f"skipped, because ticked: {listed}")
    unchecked = [task for task in tasks if not task.checks and not head.guard]
    if unchecked:
        listed = ", ".join(repr(task.title) for task in unchecked)
        problems.warn(unchecked[0].line, f"no check, so the result can only be unverified: {listed}")

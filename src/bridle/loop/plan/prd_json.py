"""`prd.json` plans: user stories as tasks, by priority, without those that pass; and lists of `tasks`. Pure."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from bridle.ground.json_fields import JsonFields
from bridle.loop.plan.dependencies import Titles, title_key
from bridle.loop.plan.markdown import CONTROL, refuse_controls, refuse_cycles
from bridle.loop.plan.model import PRD, Item, Plan, Task
from bridle.loop.plan.problems import NO_CHECKS, NO_SETTINGS_FILE, Problems
from bridle.loop.plan.titles import cut_title, with_whole_text
from bridle.loop.settings.value_kinds import shown
from bridle.loop.text.json_spans import Span, element_spans, member_spans

STORIES = "userStories"
TASKS = "tasks"
"""The name of the list in other tools, whose members have `completed` and `parallel_group`."""
_DONE = {STORIES: "passes", TASKS: "completed"}


def parse_prd(
    text: str,
    source: str,
    *,
    path: str | None = None,
    guard: Sequence[str] = (),
    setup: Sequence[str] = (),
    has_settings_file: bool = True,
) -> Plan:
    """Parse a prd.json. Raises PlanError with every problem. Guard and setup come from the settings."""
    problems = Problems(source)
    refuse_controls(text, problems)
    document = _document(text, problems)
    problems.refuse()
    return build_plan(
        document,
        [story.line for story in story_spans(text)],
        text,
        problems,
        path=path,
        guard=guard,
        setup=setup,
        has_settings_file=has_settings_file,
    )


def build_plan(
    document: Any,
    lines: Sequence[int],
    text: str,
    problems: Problems,
    *,
    path: str | None,
    guard: Sequence[str],
    setup: Sequence[str],
    has_settings_file: bool,
) -> Plan:
    """Build the plan of a parsed document; `lines` are those of its stories. Raises PlanError with every problem."""
    stories = _stories(document, lines, problems)
    tasks = _tasks(stories, problems)
    if not tasks and not problems.errors:
        problems.add(
            0, "every story passes, so nothing is left to do" if stories else f"`{_list_name(document)}` is empty"
        )
    if tasks and not guard:
        problems.warn(0, NO_CHECKS if has_settings_file else NO_SETTINGS_FILE)
    problems.refuse()
    return Plan(
        title=_name(document) or problems.source.rsplit("/", 1)[-1].rpartition(".")[0],
        text=text,
        tasks=tasks,
        guard=tuple(guard),
        setup=tuple(setup),
        kind=PRD,
        source=problems.source,
        path=path,
        left_out=tuple(story.title for story in stories if story.passes),
        warnings=problems.warnings(),
    )


def tick_prd(text: str, titles: Sequence[str]) -> tuple[str, list[str]]:
    """Return the text with `"passes": true` for these stories, and the titles that changed."""
    wanted = {title_key(title) for title in titles}
    spans = story_spans(text)
    done = _DONE[_list_name(json.loads(text))]
    stories = [JsonFields(json.loads(text[span.start : span.end])) for span in spans]
    names = _unique_titles([(cut_title(story.text("title") or ""), _id_of(story)) for story in stories])
    changed: list[str] = []
    for span, story, title in reversed(list(zip(spans, stories, names, strict=True))):
        if title_key(title) in wanted and not story.flag(done):
            text = _with_pass(text, span, done)
            changed.append(title)
    return text, changed[::-1]


def story_spans(text: str) -> list[Span]:
    """Return the span of each story in a valid JSON text."""
    whole = text.lstrip()
    if whole.startswith("["):
        return element_spans(text, len(text) - len(whole))
    members = member_spans(text, len(text) - len(whole))
    wanted = STORIES if any(name == STORIES for name, _ in members) else TASKS
    spans = [span for name, span in members if name == wanted]
    # Of a duplicate key, JSON decoders take the last.
    return element_spans(text, spans[-1].start) if spans and text[spans[-1].start] == "[" else []


def _list_name(document: Any) -> str:
    is_other = isinstance(document, dict) and STORIES not in document and TASKS in document
    return TASKS if is_other else STORIES


def _id_of(story: JsonFields) -> str:
    value = story.value("id")
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""


def _unique_titles(titled: Sequence[tuple[str, str]]) -> list[str]:
    """Return the titles of stories, with its id after one that others have too: other tools know stories by id."""
    counts = Counter(title_key(title) for title, _ in titled)
    return [
        f"{title} ({story_id})" if counts[title_key(title)] > 1 and story_id else title for title, story_id in titled
    ]


class _Story:
    """One user story while it is parsed."""

    def __init__(self, value: Mapping[str, Any], line: int, problems: Problems) -> None:
        self.line = line
        self._value = value
        self._problems = problems
        self.whole_title = self._text("title")
        self.title = cut_title(self.whole_title)
        self.id = self._text("id", or_number=True)
        self.passes = self._flag("passes") or self._flag("completed")
        self.group = self._number("parallel_group")
        self.priority = self._number("priority")
        notes = self._text("notes") or self._text("completionNotes")
        text = "\n\n".join(part for part in (self._text("description"), notes) if part)
        self.body = with_whole_text(self.whole_title, self.title, text)
        self.criteria = self._texts("acceptanceCriteria")
        self.depends_on = self._texts("dependsOn")
        if not self.title:
            problems.add(line, "this story has no title")

    def _text(self, name: str, *, or_number: bool = False) -> str:
        value = self._value.get(name)
        if or_number and isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if value is None or isinstance(value, str):
            return self._clean(name, (value or "").strip())
        self._problems.add(self.line, f"`{name}` must be text, got {shown(value)}")
        return ""

    def _texts(self, name: str) -> list[str]:
        value = self._value.get(name)
        texts = [value] if isinstance(value, str) else [] if value is None else value
        if isinstance(texts, list) and all(isinstance(text, str) for text in texts):
            return [self._clean(name, text.strip()) for text in texts if text.strip()]
        wrong = next(text for text in texts if not isinstance(text, str)) if isinstance(texts, list) else texts
        self._problems.add(self.line, f"`{name}` must be a list of texts, got {shown(wrong)}")
        return []

    def _clean(self, name: str, text: str) -> str:
        """Report control characters, which JSON can escape."""
        control = CONTROL.search(text.replace("\r\n", "\n").replace("\n", " "))
        if control is not None:
            self._problems.add(self.line, f"remove the control character {control[0]!r} from `{name}`")
        return text

    def _flag(self, name: str) -> bool:
        value = self._value.get(name)
        if value is None or isinstance(value, bool):
            return bool(value)
        self._problems.add(self.line, f"`{name}` must be true or false, got {shown(value)}")
        return False

    def _number(self, name: str) -> int | None:
        value = self._value.get(name)
        if value is None or (isinstance(value, int) and not isinstance(value, bool)):
            return value
        self._problems.add(self.line, f"`{name}` must be an integer, got {shown(value)}")
        return None


def _document(text: str, problems: Problems) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        problems.add(error.lineno, f"invalid JSON: {error.msg} (column {error.colno})")
    except (RecursionError, ValueError) as error:
        problems.add(0, f"invalid JSON: {error}")
    return None


def _stories(document: Any, lines: Sequence[int], problems: Problems) -> list[_Story]:
    values = document.get(_list_name(document)) if isinstance(document, dict) else document
    if not isinstance(values, list):
        problems.add(0, f"a prd.json must have a list `{STORIES}`, with `title` and `passes` in each story")
        return []
    stories = []
    for value, line in zip(values, lines, strict=True):
        if isinstance(value, dict):
            stories.append(_Story(value, line, problems))
        else:
            problems.add(line, f"a story of `{_list_name(document)}` must be an object, got {shown(value)}")
    for story, title in zip(stories, _unique_titles([(one.title, one.id) for one in stories]), strict=True):
        story.title = title
    _refuse_duplicates(stories, problems)
    return stories


def _refuse_duplicates(stories: Sequence[_Story], problems: Problems) -> None:
    for field in ("title", "id"):
        seen: dict[str, _Story] = {}
        for story in stories:
            value = getattr(story, field)
            first = seen.setdefault(title_key(value), story)
            if value and first is not story:
                problems.add(story.line, f"duplicate {field} {value!r}, first in the story on line {first.line}")


def _tasks(stories: Sequence[_Story], problems: Problems) -> tuple[Task, ...]:
    names = {story.whole_title: story.title for story in stories if cut_title(story.whole_title) != story.whole_title}
    names |= {story.id: story.title for story in stories if story.id}
    titles = Titles((story.title for story in stories), names)
    needs = {story.title: _needs(story, titles, problems) + _group_needs(story, stories) for story in stories}
    title_counts = Counter(title_key(story.title) for story in stories)
    unique = {title: others for title, others in needs.items() if title_counts[title_key(title)] == 1}
    refuse_cycles(unique, {story.title: story.line for story in stories}, problems)
    last = max((story.priority for story in stories if story.priority is not None), default=0) + 1
    done = {story.title for story in stories if story.passes}
    tasks = [
        Task(
            title=story.title,
            body=story.body,
            checklist=tuple(Item(criterion) for criterion in story.criteria),
            needs=tuple(title for title in needs[story.title] if title not in done),
            priority=last if story.priority is None else story.priority,
            line=story.line,
            id=story.id,
        )
        for story in stories
        if not story.passes
    ]
    return tuple(sorted(tasks, key=lambda task: task.priority))


def _needs(story: _Story, titles: Titles, problems: Problems) -> list[str]:
    resolved: list[str] = []
    for names in story.depends_on:
        known, unknown = titles.find(names)
        resolved += known
        for name in unknown:
            problems.add(story.line, f"`dependsOn` names {name!r}, but no story has that id or title")
    return list(dict.fromkeys(resolved))


def _group_needs(story: _Story, stories: Sequence[_Story]) -> list[str]:
    """Return the titles of the group before that of a story: a group starts when the one before it is done."""
    earlier = [other.group for other in stories if story.group is not None and other.group is not None]
    before = max((group for group in earlier if group < (story.group or 0)), default=None)
    return [other.title for other in stories if before is not None and other.group == before]


def _name(document: Any) -> str:
    names = [document.get(key) for key in ("name", "project", "title")] if isinstance(document, dict) else []
    return next((" ".join(name.split()) for name in names if isinstance(name, str) and name.strip()), "")


def _with_pass(text: str, story: Span, done: str) -> str:
    """Return the text with that story passing and no other byte changed."""
    for name, span in reversed(member_spans(text, story.start)):
        if name == done:
            return f"{text[: span.start]}true{text[span.end :]}"
    end = story.end - 1
    comma = ", " if member_spans(text, story.start) else ""
    members = text[:end].rstrip()
    return f'{members}{comma}"{done}": true{text[len(members) :]}'

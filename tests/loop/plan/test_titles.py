"""Titles that are the beginning of a longer text: the agent gets the whole of it."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from bridle.loop.plan.issue_plan import Issue, plan_of_issues
from bridle.loop.plan.markdown import parse_markdown
from bridle.loop.plan.model import Plan
from bridle.loop.plan.prd_json import parse_prd, tick_prd
from bridle.loop.plan.task_list import parse_task_list, tick_task_list
from bridle.loop.plan.titles import TITLE_LIMIT_CHARACTERS, cut_title, with_whole_text
from bridle.loop.plan.yaml_tasks import parse_yaml_tasks, tick_yaml

LONG = "Replace the five casts " + "of the settings " * 15 + "with structuredClone"
OTHER = LONG + ", also in the tests"
STORIES = [{"title": LONG, "passes": False, "id": "1", "description": "d"}, {"title": "b", "dependsOn": [LONG]}]
ISSUE = plan_of_issues("Issues", [Issue(number=1, title=LONG)], guard=["make test"])

Tick = Callable[[str, list[str]], tuple[str, list[str]]]


def test_a_title_is_one_line_of_limited_length() -> None:
    assert cut_title("one\n  two") == "one two"
    assert cut_title("x" * TITLE_LIMIT_CHARACTERS) == "x" * TITLE_LIMIT_CHARACTERS
    assert len(cut_title("x" * 201)) == TITLE_LIMIT_CHARACTERS
    assert len(cut_title("x" * 201, 20)) == TITLE_LIMIT_CHARACTERS - 20


def test_a_text_that_is_no_longer_than_its_title_is_not_repeated() -> None:
    assert with_whole_text("one", "one", "more") == "more"
    assert with_whole_text("one", "one (line 2)", "") == ""
    assert with_whole_text("one two", "one…", "more") == "one two\n\nmore"


@pytest.mark.parametrize(
    "plan",
    [
        parse_task_list(f"- [ ] {LONG}\n  d\n", "PRD.md"),
        parse_task_list(f"- [ ] {'x' * 190}\n- [ ] {LONG}\n- [ ] {LONG}\n  d\n", "PRD.md"),
        parse_prd(json.dumps({"userStories": STORIES}), "prd.json"),
        parse_prd(json.dumps({"tasks": STORIES}), "PRD.json"),
        parse_yaml_tasks(f"tasks:\n  - title: {LONG}\n    description: d\n", "tasks.yaml"),
        parse_markdown(ISSUE, "PLAN.md"),
    ],
    ids=["boxes", "boxes with one text", "stories", "tasks", "yaml", "issue"],
)
def test_the_agent_gets_the_whole_text(plan: Plan) -> None:
    long = [task for task in plan.tasks if "Replace" in task.title]
    assert long
    assert max(len(task.title) for task in long) <= TITLE_LIMIT_CHARACTERS
    assert [task.title for task in long if LONG not in task.body] == []


def test_a_story_waits_for_one_with_a_long_title() -> None:
    plan = parse_prd(json.dumps({"userStories": STORIES}), "prd.json")
    assert plan.task("b").needs == (cut_title(LONG),)


@pytest.mark.parametrize(
    ("tick", "text"),
    [
        (tick_task_list, f"- [ ] {LONG}\n- [ ] {OTHER}\n"),
        (tick_prd, json.dumps({"tasks": [{"title": LONG, "completed": False}]})),
        (tick_yaml, f"tasks:\n  - title: {LONG}\n    completed: false\n"),
    ],
    ids=["boxes", "tasks", "yaml"],
)
def test_a_task_with_a_long_text_is_ticked(tick: Tick, text: str) -> None:
    ticked, changed = tick(text, [cut_title(LONG)])
    assert changed == [cut_title(LONG)]
    assert ticked.count("true") + ticked.count("[x]") == 1


def test_stories_with_one_title_and_numbers_as_ids_are_ticked() -> None:
    text = json.dumps([{"id": 1, "title": "Add tests", "passes": False}, {"id": 2, "title": "Add tests"}])
    [first, _] = parse_prd(text, "prd.json").tasks
    ticked, changed = tick_prd(text, [first.title])
    assert changed == ["Add tests (1)"]
    assert json.loads(ticked)[0]["passes"] is True

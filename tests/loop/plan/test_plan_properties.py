"""Whatever a plan holds: it is read or refused, read again the same, ticked without touching another byte."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from bridle.errors import PlanError
from bridle.loop.plan.goal import parse_goal
from bridle.loop.plan.markdown import parse_markdown
from bridle.loop.plan.model import Plan, Task
from bridle.loop.plan.prd_json import parse_prd, tick_prd
from bridle.loop.plan.render_plan import render
from bridle.loop.plan.tick_boxes import tick_markdown

# What a plan is made of, whole and broken.
PIECES = (
    *("# T\n", "## A\n", "## B, c\n", "## [x] C\n", "##D\n", "## A and D\n", "### n\n", "## A\r\n", "##\n"),
    *("Check: `a`\n", "Check:\n", "Checks:\n", "**Check:** go\n", "- Check: `q`\n", "Chek: a\n", "Check: a `b` c\n"),
    *("Needs: A\n", "Needs: A, B, c and D\n", "- Needs: B, c\n", "Needs:\n", "Setup: s\n"),
    *("May edit: a/*.py, `b`\n", "May edit:\n", "    Check: no\n", "\tCheck: no\n"),
    *("- `x`\n", "- [ ] y\n", "  - [x] z\n", "* [X] w\n", "1. one\n", "- [ ] `c`\n", "    deep\n", "  on\n"),
    *("```\n", "~~~sh\n", "<!-- c\n", "-->\n", "<!-- x -->\n", "> ## q\n", "---\n", "$ make\n", "make x\n"),
    *("\n", "\n\n", "text\n", "``a`b``\n", "`a` and `b`\n", "\r\n", " ", "\t", "-", "[", "#", "`", ":"),
)
written = st.lists(st.sampled_from(PIECES), max_size=25).map("".join)
valid = written.map(lambda text: f"## First\n{text}")


def read(text: str) -> Plan | None:
    try:
        return parse_markdown(text, "PLAN.md")
    except PlanError:
        return None


def refused_lines(text: str) -> list[int]:
    with pytest.raises(PlanError) as caught:
        parse_markdown(text, "PLAN.md")
    assert isinstance(caught.value.payload, list)
    return [problem["line"] for problem in caught.value.payload]


def placeless(plan: Plan) -> tuple[tuple[Task, ...], tuple[str, ...], tuple[str, ...]]:
    return tuple(replace(task, line=0) for task in plan.tasks), plan.guard, plan.setup


@given(st.text())
def test_no_text_raises_anything_but_a_refusal(text: str) -> None:
    for parse in (read, _prd, _goal):
        parse(text)


@given(written)
def test_a_plan_is_read_or_refused_with_lines_that_exist(text: str) -> None:
    plan = read(text)
    if plan is None:
        assert all(0 <= line <= text.count("\n") + 1 for line in refused_lines(text))
        return
    assert Plan.from_json(json.loads(json.dumps(plan.as_json()))) == plan
    titles = [task.title for task in plan.tasks]
    assert len(set(titles)) == len(titles) > 0
    assert all(need in titles for task in plan.tasks for need in task.needs)
    assert all(text.split("\n")[task.line - 1].lstrip().startswith("##") for task in plan.tasks)


@given(valid)
@example("## First\n- [ ] an item\n      Check: with words that look like another thing\n")
@example("## First\nCheck: ``a `b` c``\nCheck: ` `` `\n")
def test_a_rendered_plan_parses_to_itself(text: str) -> None:
    plan = read(text)
    assume(plan is not None)
    assert plan is not None
    again = parse_markdown(render(plan.title, plan.tasks, guard=plan.guard, setup=plan.setup), "PLAN.md")
    assert placeless(again) == placeless(plan)


@given(valid, st.data())
def test_ticking_changes_boxes_alone_and_only_those_of_the_task(text: str, data: st.DataObject) -> None:
    plan = read(text)
    assume(plan is not None)
    assert plan is not None
    task = data.draw(st.sampled_from(plan.tasks))
    after, ticked = tick_markdown(text, [task.title])
    assert ticked == [task.title]
    assert without_boxes(after) == without_boxes(text)
    assert tick_markdown(after, [task.title]) == (after, [])
    rest = read(after)
    left = [item.title for item in plan.tasks if item is not task]
    assert ([item.title for item in rest.tasks] if rest is not None else []) == left


def without_boxes(text: str) -> str:
    for box in ("[ ]", "[]", "[x]", "[X]"):
        text = text.replace(box, "")
    return "".join(text.split())


values: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=6,
)
stories = st.lists(
    st.fixed_dictionaries(
        {"title": st.text(max_size=30) | values},
        optional={
            "id": values,
            "description": values,
            "acceptanceCriteria": st.lists(st.text(max_size=20), max_size=3) | values,
            "priority": st.integers(-3, 9) | values,
            "passes": st.booleans() | values,
            "dependsOn": st.lists(st.text(max_size=5), max_size=2) | values,
        },
    )
    | values,
    max_size=5,
)


@given(stories | values)
def test_any_value_of_the_stories_is_read_or_refused(given: Any) -> None:
    for document in ({"userStories": given}, given):
        _prd(json.dumps(document))
        _prd(json.dumps(document, indent=2, ensure_ascii=False))


@given(st.lists(st.tuples(st.sampled_from("ABCDEF"), st.booleans(), st.integers(0, 3)), unique_by=lambda one: one[0]))
def test_stories_are_taken_by_priority_without_those_that_pass_and_can_be_ticked(
    given: list[tuple[str, bool, int]],
) -> None:
    document = {"userStories": [{"title": title, "passes": passes, "priority": n} for title, passes, n in given]}
    text = json.dumps(document, indent=1)
    left = [title for title, passes, _ in sorted(given, key=lambda one: one[2]) if not passes]
    plan = _prd(text)
    assert [task.title for task in plan.tasks] == left if plan is not None else not left
    after, ticked = tick_prd(text, left[:1])
    assert ticked == left[:1]
    again = _prd(after)
    assert ([task.title for task in again.tasks] if again is not None else []) == left[1:]


def _prd(text: str) -> Plan | None:
    try:
        return parse_prd(text, "prd.json")
    except PlanError:
        return None


def _goal(text: str) -> Plan | None:
    try:
        return parse_goal(text)
    except PlanError:
        return None

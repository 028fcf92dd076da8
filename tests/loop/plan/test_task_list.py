"""Plain lists of boxes: what is a list, what its tasks are, and how they are ticked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.errors import PlanError
from bridle.loop.plan.model import Plan
from bridle.loop.plan.task_list import is_task_list, parse_task_list, tick_task_list

# As in the README of a tool that reads them.
PRD = """\
## Tasks
- [ ] create auth
- [ ] add dashboard
- [x] done task (skipped)
"""


def titles(text: str, source: str = "PRD.md") -> list[str]:
    return [task.title for task in parse_task_list(text, source).tasks]


def parsed(text: str) -> Plan:
    return parse_task_list(text, "PRD.md", guard=["make test"], setup=["make deps"])


def test_each_open_box_is_a_task_and_ticked_ones_are_left_out() -> None:
    plan = parsed(PRD)
    assert [task.title for task in plan.tasks] == ["create auth", "add dashboard"]
    assert plan.left_out == ("done task (skipped)",)
    assert (plan.guard, plan.setup) == (("make test",), ("make deps",))
    assert [task.line for task in plan.tasks] == [2, 3]


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        (PRD, "PRD.md", True),
        (PRD, "work.md", True),
        ("# Shop\n\n- [ ] one\n- [ ] two\n", "work.md", True),
        ("## Backend\n- [ ] one\n## Frontend\n- [ ] two\n", "docs/prd.md", True),
        ("## Backend\n- [ ] one\n## Frontend\n- [ ] two\n", "PLAN.md", False),
        ("## High Priority\n- [ ] one\n## Low Priority\n- [ ] two\n", ".ralph/fix_plan.md", True),
        ("## High Priority\n- [ ] one\n## Low Priority\n- [ ] two\n", ".ralph/@fix_plan.md", True),
        ("## High Priority\n- [ ] one\n## Low Priority\n- [ ] two\n", "a_fix_plan.md", False),
        ("## Goals\nGood.\n## To do\n- [ ] one\n", "PLAN.md", True),
        ("## To do\n- [ ] one\nCheck: `true`\n", "PRD.md", False),
        ("## Todo\n- [ ] one\n## Parser\n- [ ] two\n", "PLAN.md", False),
        ("- [ ] one\n\n## Parser\nMore.\n", "PLAN.md", False),
        ("# Nothing\n\ntext\n", "PRD.md", False),
        ("```\n- [ ] in a fence\n```\n", "PRD.md", False),
        ("## Parser\nCheck: `true`\n", "PLAN.md", False),
    ],
)
def test_what_is_a_list_and_what_a_plan_of_sections(text: str, name: str, expected: bool) -> None:
    assert is_task_list(text, name) is expected


def test_what_is_indented_below_a_box_belongs_to_its_task() -> None:
    [first, second] = parsed("- [ ] one\n  more words\n  - [ ] inner\n  - [x] ready\n\n- [ ] two\n").tasks
    assert first.body == "more words"
    assert [(item.text, item.is_ticked) for item in first.checklist] == [("inner", False), ("ready", True)]
    assert (second.title, second.checklist) == ("two", ())


def test_two_boxes_with_one_text_are_two_tasks() -> None:
    assert titles("- [ ] add tests\n- [ ] Add tests\n") == ["add tests", "Add tests (line 2)"]


def test_a_list_may_have_checks_of_its_own_above_it() -> None:
    plan = parsed("# Shop\n\nChecks: `make lint`\nSetup: `make env`\n\n- [ ] one\n")
    assert (plan.title, plan.guard, plan.setup) == ("Shop", ("make lint",), ("make env",))


def test_a_list_without_checks_is_warned_of() -> None:
    assert "nothing can be verified" in parse_task_list("- [ ] a b\n", "PRD.md").warnings[0]


def test_a_list_that_is_all_ticked_is_refused() -> None:
    with pytest.raises(PlanError, match="every box is ticked"):
        parse_task_list("- [x] one\n", "PRD.md")


def test_ticking_changes_the_boxes_of_the_task_and_no_other_byte() -> None:
    text = "\ufeff# Shop\r\n\r\n* [ ] one\r\n    - [ ] inner\r\n- [ ] two\r\n- [X] three"
    ticked, changed = tick_task_list(text, ["ONE", "three"])
    assert changed == ["one"]
    assert ticked == text.replace("* [ ] one", "* [x] one").replace("- [ ] inner", "- [x] inner")


def test_of_two_alike_the_one_that_was_done_is_ticked() -> None:
    ticked, changed = tick_task_list("- [ ] a b\n- [ ] a b\n", ["a b (line 2)"])
    assert (ticked, changed) == ("- [ ] a b\n- [x] a b\n", ["a b (line 2)"])


@given(
    st.lists(
        st.sampled_from(["- [ ] a", "- [x] b", "  - [ ] c", "text", "## Tasks", "", "```", "- [ ] a"]), max_size=12
    )
)
def test_any_list_is_read_or_refused_and_what_is_ticked_is_not_read_again(lines: list[str]) -> None:
    text = "\n".join(lines)
    if not is_task_list(text, "PRD.md"):
        return
    try:
        names = titles(text)
    except PlanError:
        return
    assert len(set(names)) == len(names)
    ticked, changed = tick_task_list(text, names)
    assert changed == names
    with pytest.raises(PlanError, match="every box is ticked"):
        parse_task_list(ticked, "PRD.md")

"""YAML task lists, as the tool that reads them documents them."""

from __future__ import annotations

import pytest
import yaml

from bridle.errors import PlanError
from bridle.loop.plan.model import Plan
from bridle.loop.plan.yaml_tasks import parse_yaml_tasks, tick_yaml

TASKS = """\
tasks:
  - title: create auth
    completed: false
  - title: add dashboard
    completed: true
    description: with charts
"""
GROUPS = """\
tasks:
  - title: Create User model
    parallel_group: 1
  - title: Create Post model
    parallel_group: 1  # same group = runs together
  - title: Add relationships
    parallel_group: 2  # runs after group 1
  - title: Tidy up
"""


def parsed(text: str) -> Plan:
    return parse_yaml_tasks(text, "tasks.yaml", guard=["make test"])


def refused(text: str) -> str:
    with pytest.raises(PlanError) as caught:
        parsed(text)
    return caught.value.message


def test_open_tasks_are_read_and_completed_ones_left_out() -> None:
    plan = parsed(TASKS)
    assert [(task.title, task.line) for task in plan.tasks] == [("create auth", 2)]
    assert plan.left_out == ("add dashboard",)
    assert plan.guard == ("make test",)


def test_a_group_waits_for_the_one_before_it() -> None:
    needs = {task.title: task.needs for task in parsed(GROUPS).tasks}
    assert needs["Create Post model"] == ()
    assert needs["Add relationships"] == ("Create User model", "Create Post model")
    assert needs["Tidy up"] == ()


def test_text_stays_text() -> None:
    plan = parsed("tasks:\n- title: 404\n  description: 2026-01-01\n- {title: yes, completed: no}\n")
    assert [(task.title, task.body) for task in plan.tasks] == [("404", "2026-01-01"), ("yes", "")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tasks: [", "invalid YAML"),
        ("", "must have a list"),
        ("- a", "must be an object"),
        ("tasks: 3", "must have a list"),
        ("tasks: []", "`tasks` is empty"),
        ("tasks:\n- completed: false", "no title"),
        ("tasks:\n- {title: a b}\n- {title: A B}", "duplicate title"),
        ("tasks:\n- {title: a b, completed: maybe}", "`completed` must be true or false"),
        ("tasks:\n- {title: a b, parallel_group: x}", "`parallel_group` must be an integer"),
        ("tasks: &a\n- *a", "nested too deeply"),
        ("!!python/object/apply:os.system [id]", "must be an object"),
    ],
)
def test_what_cannot_be_a_list_is_refused(text: str, message: str) -> None:
    assert message in refused(text)


def test_aliases_that_multiply_are_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]" for level in range(1, 9)]
    assert "too many" in refused("\n".join([*lines, "tasks:", "- title: a b"]))


@pytest.mark.parametrize(
    "text",
    [
        TASKS,
        GROUPS,
        "\ufeff" + TASKS.replace("\n", "\r\n"),
        "tasks: [{title: create auth}, {title: other, completed: false}]\n",
    ],
)
def test_ticking_completes_one_task_and_keeps_all_others(text: str) -> None:
    title = parsed(text.removeprefix("\ufeff")).tasks[0].title
    ticked, changed = tick_yaml(text, [title.upper()])
    assert changed == [title]
    before, after = yaml.safe_load(text), yaml.safe_load(ticked)
    for old, new in zip(before["tasks"], after["tasks"], strict=True):
        assert new == ({**old, "completed": True} if old["title"] == title else old)
    kept = [line for line in text.splitlines() if title not in line and "completed" not in line]
    assert [line for line in ticked.splitlines() if line in kept] == kept


def test_comments_stay_when_a_task_is_ticked() -> None:
    ticked, _ = tick_yaml(GROUPS, ["Add relationships"])
    assert "# same group = runs together" in ticked
    assert "# runs after group 1" in ticked


def test_ticking_a_list_that_is_no_longer_one_changes_nothing() -> None:
    for text in ("tasks: [", "tasks: [1, a]", "", "- x"):
        assert tick_yaml(text, ["a"]) == (text, [])

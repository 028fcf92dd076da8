"""Plans as people write them, and what is read from each: text in, text out."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from bridle.errors import PlanError
from bridle.loop.plan.model import Plan, Task
from bridle.loop.plan.read_plan import read_plan
from bridle.loop.settings.bridle_toml import load_settings

FOLDER = Path(__file__).parents[2] / "scenarios" / "plans"
SCENARIOS = sorted(FOLDER.glob("*.txt"))
SECTION = re.compile(r"^=== (.+)\n", re.MULTILINE)
REWRITE = bool(os.environ.get("BRIDLE_REWRITE"))  # read here: tests themselves see no such variable


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_the_plan_is_read_as_it_was(path: Path, tmp_path: Path) -> None:
    given, expected = path.read_text(encoding="utf-8").split("=== result\n")
    result = played(given, tmp_path)
    if REWRITE:
        path.write_text(f"{given}=== result\n{result}", encoding="utf-8")
        return
    assert result == expected


def test_a_plan_that_is_read_differently_is_noticed(tmp_path: Path) -> None:
    given, expected = (FOLDER / "the-contract.txt").read_text(encoding="utf-8").split("=== result\n")
    assert played(given.replace("make test", "make tests"), tmp_path) != expected


def played(given: str, folder: Path) -> str:
    parts = SECTION.split(given)
    for name, text in zip(parts[1::2], parts[2::2], strict=True):
        (folder / name).write_text(text, encoding="utf-8")
    try:
        plan = read_plan(None, folder, load_settings(folder, folder / "nobody"))
    except PlanError as error:
        return f"{error}\n"
    assert Plan.from_json(plan.as_json()) == plan
    assert plan.text == parts[-1]
    return "\n".join(shown(plan)) + "\n"


def shown(plan: Plan) -> Iterator[str]:
    yield f"{plan.kind}: {plan.title}"
    yield from (f"setup: {command}" for command in plan.setup)
    yield from (f"guard: {command}" for command in plan.guard)
    for task in plan.tasks:
        yield ""
        yield from shown_task(task)
    yield from ["", *(f"left out: {title}" for title in plan.left_out)] if plan.left_out else []
    yield from ["", *(f"warning: {text}" for text in plan.warnings)] if plan.warnings else []


def shown_task(task: Task) -> Iterator[str]:
    about = [f"line {task.line}", *([f"priority {task.priority}"] if task.priority else []), task.id]
    yield f"task: {task.title} ({', '.join(filter(None, about))})"
    yield from (f"  | {line}".rstrip() for line in task.body.split("\n") if task.body)
    for item in task.checklist:
        first, *more = item.text.split("\n")
        yield f"  [{'x' if item.is_ticked else ' '}] {first}"
        yield from (f"      {line}" for line in more)
    yield from (f"  check: {command}" for command in task.checks)
    yield from (f"  needs: {title}" for title in task.needs)
    yield from (f"  may edit: {pattern}" for pattern in task.may_edit)

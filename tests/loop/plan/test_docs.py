"""The pages about settings and plans say what the program does."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from bridle.errors import PlanError
from bridle.loop.plan import directives
from bridle.loop.plan.markdown import parse_markdown
from bridle.loop.plan.prd_json import parse_prd
from bridle.loop.plan.read_plan import LIMIT_BYTES
from bridle.loop.settings.bridle_toml import load_settings
from tools.settings_reference import PAGE as SETTINGS_PAGE
from tools.settings_reference import reference

PLANS = (Path(__file__).parents[3] / "docs" / "plan-format.md").read_text(encoding="utf-8")


def examples(language: str, page: str = PLANS) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


def test_the_page_of_settings_is_generated() -> None:
    assert SETTINGS_PAGE.read_text(encoding="utf-8") == reference(), "run `make docs`"


def test_the_example_of_a_settings_file_can_be_used(tmp_path: Path) -> None:
    (example,) = examples("toml", SETTINGS_PAGE.read_text(encoding="utf-8"))
    (tmp_path / "bridle.toml").write_text(example, encoding="utf-8")
    assert set(load_settings(tmp_path, tmp_path / "home").chosen) == set(tomllib.loads(example))


def test_the_first_example_of_a_plan_parses_as_documented() -> None:
    plan = parse_markdown(examples("markdown")[0], "PLAN.md")
    assert plan.guard == ("make test",)
    assert plan.setup == ("pip install -e .",)
    bucket, wire = plan.tasks
    assert bucket.checks == ("pytest tests/test_limits.py -q",)
    assert bucket.may_edit == ("tests/test_limits.py",)
    assert [item.text for item in bucket.checklist] == ["refills at a fixed rate", "is safe under threads"]
    assert wire.needs == ("Token bucket",)


def test_every_form_on_the_page_parses_as_documented() -> None:
    plan = parse_markdown(examples("markdown")[1], "PLAN.md")
    both = ("pytest tests/a.py", "pytest tests/b.py")
    assert {task.title: task.checks for task in plan.tasks if task.checks} == {
        "On one line": both[:1],
        "In bold, or as an item": both[:1],
        "As a list": both,
        "As a block": (both[0], "pytest tests/b.py --durations 3 --quiet"),
    }
    assert plan.guard == ("make lint", "make test")
    assert plan.task("Waiting for several").needs == ("On one line", "As a list", "As a block")
    last = plan.task("Waiting for several, one by one")
    assert last.needs == ("On one line", "As a list")
    assert last.may_edit == ("tests/*.py", "testdata/**", "Makefile")


def test_forms_documented_as_refused_are_refused() -> None:
    with pytest.raises(PlanError, match="text and backticks are mixed"):
        parse_markdown("## A\nCheck: run `make` twice\n", "PLAN.md")


def test_the_example_of_stories_is_a_plan() -> None:
    (task,) = parse_prd(examples("json")[0], "prd.json").tasks
    assert (task.id, len(task.checklist)) == ("US-001", 2)


def test_the_page_names_every_directive_and_the_cap() -> None:
    rows = set(re.findall(r"^\| `([A-Z][a-z ]+):`", PLANS, re.MULTILINE))
    assert rows == set(directives.ALL)
    assert LIMIT_BYTES == 1024 * 1024
    assert "larger than 1 MiB" in PLANS

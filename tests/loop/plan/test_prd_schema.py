"""The schema of prd.json and its parser agree."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from bridle.errors import PlanError
from bridle.loop.plan.prd_json import parse_prd
from bridle.loop.plan.prd_schema import prd_schema

VALID = jsonschema_rs.validator_for(prd_schema())
ROOT = Path(__file__).parents[3]
STORY = {"id": "US-1", "title": "One", "passes": False}


def is_accepted(document: Any) -> bool:
    try:
        parse_prd(json.dumps(document), "prd.json")
    except PlanError:
        return False
    return True


def test_the_example_of_the_page_is_valid() -> None:
    page = (ROOT / "docs" / "plan-format.md").read_text(encoding="utf-8")
    document = json.loads(page.split("```json\n")[1].split("```")[0])
    assert is_accepted(document)
    assert VALID.is_valid(document)
    assert VALID.is_valid({"$schema": "./prd.schema.json", **document})
    assert is_accepted({"$schema": "./prd.schema.json", **document})


@pytest.mark.parametrize(
    "name", ["id", "title", "description", "notes", "acceptanceCriteria", "priority", "passes", "dependsOn"]
)
@pytest.mark.parametrize("value", [None, True, 0, 2, 1.5, "", "US-1", [], ["x"], [1], {}], ids=repr)
def test_what_the_schema_refuses_the_parser_refuses(name: str, value: Any) -> None:
    for document in ({"userStories": [{**STORY, name: value}]}, [{**STORY, name: value}]):
        if not VALID.is_valid(document):
            assert not is_accepted(document)


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"userStories": []},
        {"userStories": [{}]},
        [1],
        {"userStories": [{**STORY, "passes": "no"}]},
        {"userStories": {}},
    ],
    ids=repr,
)
def test_an_editor_marks_what_a_run_would_refuse(document: Any) -> None:
    assert not is_accepted(document)
    assert not VALID.is_valid(document)


def test_members_of_other_tools_are_allowed() -> None:
    story = {**STORY, "labels": ["a"], "completionNotes": "x", "metadata": {}}
    assert VALID.is_valid({"branchName": "x", "metadata": {}, "userStories": [story]})

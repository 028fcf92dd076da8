"""All problems of a plan are reported at once, each with its line."""

from __future__ import annotations

import json

import pytest

from bridle.errors import PlanError
from bridle.loop.plan.markdown import parse_markdown
from bridle.loop.plan.prd_json import parse_prd

BAD = """\
# Bad

## One
Needs: Nobody

## One
Check:

## Three
Needs:
- One
- Nowhere

## Four
Needs: Five

## Five
Needs: Four
"""


def lines_of(error: PlanError) -> dict[int, str]:
    payload = error.payload
    assert isinstance(payload, list)
    return {problem["line"]: problem["message"] for problem in payload}


def test_unknown_needs_duplicates_empty_checks_and_cycles_are_reported_together() -> None:
    with pytest.raises(PlanError) as refused:
        parse_markdown(BAD, "PLAN.md")
    result = lines_of(refused.value)
    assert sorted(result) == [4, 6, 7, 12, 14]
    assert "'Nobody'" in result[4]
    assert "first on line 3" in result[6]
    assert "no command" in result[7]
    assert "'Nowhere'" in result[12]
    assert "'Four' → 'Five' → 'Four'" in result[14]


def test_all_problems_of_a_prd_are_reported_together() -> None:
    stories = [
        {"title": "a", "dependsOn": ["nobody"]},
        {"title": "a"},
        {"title": "b", "passes": "yes"},
        {"title": "c", "dependsOn": ["d"]},
        {"title": "d", "dependsOn": ["c"]},
    ]
    text = '{"userStories": [\n' + ",\n".join(json.dumps(story) for story in stories) + "\n]}"
    with pytest.raises(PlanError) as refused:
        parse_prd(text, "prd.json")
    result = lines_of(refused.value)
    assert sorted(result) == [2, 3, 4, 5]
    assert "'nobody'" in result[2]
    assert "first in the story on line 2" in result[3]
    assert "must be true or false" in result[4]
    assert "'c' → 'd' → 'c'" in result[5]

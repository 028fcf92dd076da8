"""Which known names a mistyped one may stand for."""

from __future__ import annotations

import pytest

from bridle.ground.suggest import close_names, did_you_mean, nearest


@pytest.mark.parametrize(
    ("name", "known", "names"),
    [
        ("modle", ["mode", "model", "resume"], ["mode", "model"]),
        ("greet", ["great", "greet2", "xyz"], ["greet2", "great"]),
        ("ab", ["cd", "xyz"], []),
        ("", ["a"], []),
        ("max-cost", ["max_cost", "max_costs"], ["max_cost"]),
        ("Max Cost", ["max_costs", "max_cost"], ["max_cost"]),
        ("plan.md", ["PLAN.md", "plans.md"], ["PLAN.md"]),
    ],
)
def test_the_closest_names_come_first(name: str, known: list[str], names: list[str]) -> None:
    assert close_names(name, known, limit=2) == names


def test_the_limit_and_the_cutoff_bound_what_is_suggested() -> None:
    assert close_names("nope", ["nofm"]) == []
    assert close_names("nope", ["nofm"], cutoff=0.5) == ["nofm"]
    assert close_names("aa", ["aab", "aac", "aad"], limit=2, cutoff=0.5) == ["aad", "aac"]


def test_the_question_names_every_candidate_or_is_empty() -> None:
    assert did_you_mean("claer", ["clear", "cleat"], limit=2, prefix="/") == "Did you mean /clear or /cleat?"
    assert did_you_mean("xyz", ["clear"]) == ""


@pytest.mark.parametrize(
    ("name", "found"),
    [("greet", "greet"), ("Greet", "greet"), ("gret", "greet"), ("grete", "greet"), ("great", "great"), ("gr", None)],
)
def test_the_nearest_name_is_the_one_with_the_fewest_changes(name: str, found: str | None) -> None:
    assert nearest(name, ["greet", "great"], edits=2) == found
    assert nearest(name, [], edits=2) is None

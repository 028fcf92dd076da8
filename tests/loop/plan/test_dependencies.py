"""Titles in the text of `Needs:` are found whatever their markup, and cycles are reported from their first task."""

from __future__ import annotations

import pytest

from bridle.loop.plan.dependencies import Titles, cycles, title_key


@pytest.mark.parametrize(
    ("first", "second"),
    [("Token bucket", "**token  bucket**"), ("Use `x`", "use x"), ("A, b", "a ,  B"), ("“Quoted”.", "quoted")],
)
def test_titles_that_differ_in_case_and_markup_are_equal(first: str, second: str) -> None:
    assert title_key(first) == title_key(second)


@pytest.mark.parametrize(
    ("names", "matched", "unknown"),
    [
        ("Parse", ["Parse"], []),
        ("Parse, Render", ["Parse", "Render"], []),
        ("Parse and Render", ["Parse", "Render"], []),
        ("Parse; Render & Parse and print", ["Parse", "Render", "Parse and print"], []),
        ("Parse and print, and Render.", ["Parse and print", "Render"], []),
        ("Read, write", ["Read, write"], []),
        ("Nobody", [], ["Nobody"]),
        ("Nobody, Parse and nothing", ["Parse"], ["Nobody"]),
        ("Salt and pepper and Parse", ["Parse"], ["Salt and pepper"]),
        ("none", [], []),
        ("-", [], []),
        ("", [], []),
    ],
)
def test_the_longest_title_at_each_place_is_taken(names: str, matched: list[str], unknown: list[str]) -> None:
    titles = Titles(["Parse", "Render", "Parse and print", "Read, write"])
    assert titles.find(names) == (matched, unknown)


@pytest.mark.parametrize("name", ["Parse", "1", "#1", "task 1", "Step 1", "Task 1: Parse"])
def test_a_numbered_title_is_found_by_its_number_and_by_its_text(name: str) -> None:
    assert Titles(["Task 1: Parse", "Task 2: Render"]).find(name) == (["Task 1: Parse"], [])


@pytest.mark.parametrize(
    "title", ["Step 3 – Deploy", "Step 3: Deploy", "Step 3:Deploy", "3 - Deploy", "3. Deploy", "#3 Deploy"]
)
def test_a_number_may_be_set_off_in_several_ways(title: str) -> None:
    assert Titles([title, "Other"]).find("3, Deploy") == ([title, title], [])


@pytest.mark.parametrize("title", ["3-way merge", "2.0 release", "404"])
def test_a_number_that_is_part_of_a_word_is_no_other_name(title: str) -> None:
    assert Titles([title]).find("3, 2, way merge, 0 release") == ([], ["3", "2", "way merge", "0 release"])


def test_an_ambiguous_other_name_is_unknown() -> None:
    titles = Titles(["1. Parse", "2. Parse"])
    assert titles.find("Parse") == ([], ["Parse"])
    assert titles.find("1, 2") == (["1. Parse", "2. Parse"], [])


def test_a_title_goes_before_another_name_and_an_id_counts_as_a_name() -> None:
    titles = Titles(["Parse", "1. Parse", "Render"], {"US-1": "Render"})
    assert titles.find("Parse, us-1") == (["Parse", "Render"], [])


def test_close_titles_are_suggested_once() -> None:
    assert Titles(["1. Token bucket", "Render"]).near("tokn bucket") == ["1. Token bucket"]
    assert Titles([]).near("x") == []


def test_cycles_begin_with_their_first_task_and_are_reported_apart() -> None:
    needs = {"A": ["B"], "B": ["C"], "C": ["A"], "D": ["D"], "E": ["A", "unknown"]}
    assert sorted(cycles(needs)) == [["A", "B", "C", "A"], ["D", "D"]]
    assert cycles({"A": [], "B": ["A"]}) == []


def test_only_the_first_cycles_of_many_are_reported() -> None:
    assert len(cycles({f"{number}": [f"{number}"] for number in range(100)})) == 10

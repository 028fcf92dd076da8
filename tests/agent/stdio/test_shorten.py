"""Values that are shortened until they fit into a line, and texts that get back what was cut out of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bridle.agent.stdio.shorten import restore, shorten, shorten_to_fit

LIMIT = 900 * 1024


@pytest.mark.parametrize(
    "value",
    [
        {"text": "y" * 3_000_000},
        {"content": [{"type": "text", "text": "y" * 30_000}] * 100},
        {"tools": ["mcp__server__" + "y" * 100] * 20_000},
        {"lines": ["\x01" * 1000] * 2000},
        {"deep": [[{"a": "z" * 5000}] * 50] * 50},
    ],
    ids=["one text", "many texts", "many items", "escapes", "lists in lists"],
)
def test_a_value_of_any_form_fits(value: object) -> None:
    line = shorten_to_fit(value, LIMIT)
    assert line is not None
    assert len(line) <= LIMIT
    assert json.loads(line).keys() == value.keys()  # type: ignore[attr-defined]


def test_as_much_is_kept_as_there_is_room_for() -> None:
    assert len(shorten_to_fit({"text": "y" * 3_000_000}, LIMIT) or b"") > 100_000


def test_what_has_too_many_names_does_not_fit() -> None:
    assert shorten_to_fit({str(number): 1 for number in range(200_000)}, LIMIT) is None


def test_a_shortened_text_gets_its_original_wherever_it_stands() -> None:
    cut: dict[str, Any] = {}
    value = {"a": "x" * 30, "b": "short"}
    shown = shorten(value, 10, cut=cut)
    assert shown["a"] != value["a"]
    assert restore({"updatedInput": shown, "more": [shown["a"], 1]}, cut) == {
        "updatedInput": value,
        "more": ["x" * 30, 1],
    }


def test_texts_and_lists_that_differ_only_where_they_are_cut_get_their_own_originals() -> None:
    old, new = "x" * 60, "x" * 29 + "y" + "x" * 30
    value = {
        "edits": [{"old_string": old, "new_string": new}],
        "lists": [[1, 2, 3, 4], [1, 2, 3, 5], [1, 2, 3], ["x" * 60] * 4],
    }
    cut: dict[str, Any] = {}
    shown = shorten(value, 10, 3, cut)
    assert len(shown["lists"][0]) == 3
    assert restore(json.loads(json.dumps(shown)), cut) == value

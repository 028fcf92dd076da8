"""A field of the wrong type counts as missing, whatever another program wrote."""

from __future__ import annotations

import json
from enum import StrEnum

import pytest

from bridle.ground.json_fields import JsonFields


class Colour(StrEnum):
    RED = "red"


FIELDS = JsonFields(
    {
        "text": "a",
        "empty": "",
        "number": 1.5,
        "zero": 0,
        "yes": True,
        "list": [1, "b"],
        "object": {"x": "y"},
        "null": None,
    }
)


@pytest.mark.parametrize("value", [None, "text", 1, [], [{"text": "a"}], True])
def test_a_value_without_fields_has_none(value: object) -> None:
    fields = JsonFields(value)
    assert "text" not in fields
    assert (fields.value("text"), fields.text("text"), fields.number("text"), fields.texts("text")) == (None,) * 4
    assert (fields.flag("text"), fields.flag("text", default=True), fields.object("text")) == (False, True, {})


def test_the_first_field_of_its_type_counts() -> None:
    assert FIELDS.text("missing", "number", "empty", "text") == "a"
    assert FIELDS.first("null", "zero", "empty", "number", "text") == 1.5
    assert FIELDS.object("list", "object") == {"x": "y"}
    assert FIELDS.fields("object").text("x") == "y"
    assert FIELDS.texts("list") == ("1", "b")


def test_numbers_are_no_flags_and_flags_no_numbers() -> None:
    assert [FIELDS.number(name) for name in ("number", "zero", "yes", "text")] == [1.5, 0, None, None]
    assert [FIELDS.positive(name) for name in ("number", "zero", "yes")] == [1.5, None, None]
    assert [FIELDS.flag(name, default=True) for name in ("yes", "number", "zero")] == [True, True, True]


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"])
def test_a_number_is_finite(text: str) -> None:
    fields = JsonFields(json.loads(f'{{"n": {text}}}'))
    assert (fields.number("n"), fields.positive("n")) == (None, None)


def test_a_large_integer_is_a_number() -> None:
    assert JsonFields({"n": 10**400}).number("n") == 10**400


def test_an_unknown_member_is_none() -> None:
    fields = JsonFields({"a": "red", "b": "blue", "c": 1})
    assert [fields.member(name, Colour) for name in "abcd"] == [Colour.RED, None, None, None]

"""Values of a process are compared, copied and shown as JSON; anything else is refused with its place."""

from __future__ import annotations

from typing import Any

import pytest

from bridle.engine.replay.json_values import SHOWN_CHARACTERS, copy_for_process, digest, preview, to_json
from bridle.errors import BadTask

SUBJECT = ("the arguments of task", "review")


def circle() -> list[Any]:
    items: list[Any] = []
    items.append(items)
    return items


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), {1, 2}, b"x", {(1, 2): 3}, circle()])
def test_what_json_cannot_say_is_refused_with_its_place(value: object) -> None:
    for function in (digest, to_json):
        with pytest.raises(BadTask, match=r"the arguments of task 'review' cannot be written as JSON at .*\.py:\d+"):
            function(value, SUBJECT)


def test_the_digest_does_not_depend_on_the_order_of_keys() -> None:
    assert digest({"a": 1, "b": {"c": 2, "d": 3}}, SUBJECT) == digest({"b": {"d": 3, "c": 2}, "a": 1}, SUBJECT)
    assert digest([1, 2], SUBJECT) != digest([2, 1], SUBJECT)
    assert digest("1", SUBJECT) != digest(1, SUBJECT)


def test_a_copy_as_json_shares_nothing_with_the_process() -> None:
    value = {"a": [1, (2, 3)], 5: None}
    copy = to_json(value, SUBJECT)
    assert copy == {"a": [1, [2, 3]], "5": None}
    copy["a"].append(4)
    assert value["a"] == [1, (2, 3)]


def test_a_process_may_change_its_copy_at_any_depth() -> None:
    value = {"a": [{"b": [1]}], "c": "text"}
    copy = copy_for_process(value)
    assert copy == value
    copy["a"][0]["b"].append(2)
    copy["a"].append(3)
    copy["c"] = "other"
    assert value == {"a": [{"b": [1]}], "c": "text"}
    assert copy_for_process("text") == "text"


def test_a_preview_is_short_and_never_fails() -> None:
    assert preview({"b": 1, "a": "ü"}) == '{"a": "ü", "b": 1}'
    assert len(preview("x" * 1000)) == SHOWN_CHARACTERS + 1
    assert preview({1, 2}) == "{1, 2}"
    assert preview(circle()) == "[[...]]"

"""JSON that was cut off at any place."""

from __future__ import annotations

import json

import pytest

from bridle.wire.transcript.cut_json import complete_json

WHOLE = json.dumps(
    {"path": "a\\b.py", "n": [1, 2.5, {"x": None}], "flag": True, "text": 'say "no"\\n\\u00e9, {then} [go]'}
)


@pytest.mark.parametrize("length", range(1, len(WHOLE) + 1))
def test_every_beginning_of_an_object_is_completed_with_its_first_members(length: int) -> None:
    completed = json.loads(complete_json(WHOLE[:length]))
    whole = json.loads(WHOLE)
    assert list(completed) == list(whole)[: len(completed)] or set(completed) - set(whole) == {list(completed)[-1]}
    for name in list(completed)[:-1]:
        assert completed[name] == whole[name]


def test_a_string_is_kept_as_far_as_it_goes() -> None:
    assert json.loads(complete_json('{"content": "one\\ntw')) == {"content": "one\ntw"}
    assert json.loads(complete_json('{"content": "one\\')) == {"content": "one"}
    assert json.loads(complete_json('{"content": "one\\u00e')) == {"content": "one"}


@pytest.mark.parametrize("text", ["", "nonsense", "[", "}", '{"a" "b'])
def test_what_is_not_the_beginning_of_an_object_is_still_json(text: str) -> None:
    json.loads(complete_json(text))

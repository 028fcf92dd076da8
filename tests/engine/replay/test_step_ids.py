"""Steps are numbered in the order of their calls, or named by a key that is used once."""

from __future__ import annotations

import pytest

from bridle.engine.replay import step_ids
from bridle.engine.replay.step_ids import KEY_LIMIT_CHARACTERS, Steps
from bridle.errors import BadTask


def test_steps_with_keys_do_not_count() -> None:
    steps = Steps()
    assert [steps.next_id(key) for key in (None, "review", None, "S1x")] == ["S000001", "review", "S000002", "S1x"]


def test_a_key_is_used_once_and_both_places_are_named() -> None:
    steps = Steps()
    steps.next_id("review")
    with pytest.raises(BadTask, match=r"the key 'review' is used twice: at .*\.py:\d+ and at .*\.py:\d+"):
        steps.next_id("review")


@pytest.mark.parametrize(
    ("key", "fault"),
    [
        (1, "must be a string"),
        ("", "must not be empty"),
        (" \t", "must not be empty"),
        ("k" * (KEY_LIMIT_CHARACTERS + 1), "must have at most"),
        ("a\nb", "must be printable"),
        ("S1", "must not look like the number of a step"),
        ("S000001", "must not look like the number of a step"),
    ],
)
def test_a_key_that_could_be_mistaken_is_refused(key: str, fault: str) -> None:
    with pytest.raises(BadTask, match=fault):
        Steps().next_id(key)


def test_a_step_was_reached_once_it_was_called() -> None:
    steps = Steps()
    steps.next_id(None)
    steps.next_id("review")
    assert [steps.was_reached(step) for step in ("S000001", "S000002", "review", "other")] == [True, False, True, False]
    assert [steps.is_ahead(step) for step in ("S000001", "S000002", "other", "S", "S١")] == [
        False,
        True,
        False,
        False,
        False,
    ]


def test_a_process_with_too_many_steps_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_ids, "STEP_LIMIT", 2)
    steps = Steps()
    assert [steps.next_id(None), steps.next_id(None)] == ["S000001", "S000002"]
    with pytest.raises(BadTask, match="at most 2 steps"):
        steps.next_id(None)

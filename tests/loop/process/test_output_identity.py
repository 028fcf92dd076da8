"""A replay compares every word of a receipt in runs of the same wording, and only decisions in others."""

from __future__ import annotations

from typing import Any

import pytest

from bridle.loop.process.ralph import output_identity
from bridle.loop.run_inputs import WORDING

RECEIPT: dict[str, Any] = {
    "run": "r",
    "verdict": "done",
    "undo": "git branch -D b",
    "tasks": [{"title": "A", "reason": "x"}],
}
REWORDED: dict[str, Any] = RECEIPT | {"undo": "other", "tasks": [{"title": "A", "reason": "y"}]}
DECIDED: dict[str, Any] = RECEIPT | {"verdict": "failed"}


@pytest.mark.parametrize(("inputs", "is_same"), [({"wording": WORDING}, False), ({}, True), ({"wording": "x"}, True)])
def test_a_reworded_receipt_is_the_same_only_in_runs_of_another_wording(inputs: Any, *, is_same: bool) -> None:
    assert (output_identity(inputs, RECEIPT) == output_identity(inputs, REWORDED)) is is_same
    assert output_identity(inputs, RECEIPT) != output_identity(inputs, DECIDED)


@pytest.mark.parametrize("output", [None, [], {"tasks": 5}, {"tasks": [1]}, {"tasks": [{"checks": [1]}]}])
def test_an_output_that_is_not_a_receipt_is_compared_as_it_is(output: Any) -> None:
    assert output_identity({}, output) == output

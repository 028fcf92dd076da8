"""A receipt includes what interrupted iterations have used; a cost that is not known makes the sum unknown."""

from __future__ import annotations

from typing import Any

import pytest

from bridle.loop.control.current_state import with_interrupted
from bridle.loop.performers.earlier_attempts import InterruptedEffect, InterruptedWork
from bridle.loop.process.receipt import Receipt, TaskReceipt
from bridle.loop.process.task_state import Usage


@pytest.mark.parametrize(("unknown_costs", "expected"), [(0, 0.75), (1, None)])
def test_a_sum_with_an_unknown_part_is_unknown(unknown_costs: int, expected: float | None) -> None:
    costs: dict[str, Any] = {"cost_usd": 0.5, "known_cost_usd": 0.5, "wasted_usd": 0.5}
    receipt = Receipt(tasks=(TaskReceipt(title="One", **costs), TaskReceipt(title="Two")), **costs)
    usage = Usage(cost_usd=0.25, unknown_costs=unknown_costs, input_tokens=7, output_tokens=3, seconds=2.0)
    whole = with_interrupted(receipt, InterruptedWork({"E": InterruptedEffect("One", usage)}))
    for found in (whole, whole.tasks[0]):
        assert (found.cost_usd, found.wasted_usd, found.known_cost_usd) == (expected, expected, 0.75)
        assert (found.input_tokens, found.output_tokens) == (7, 3)
    assert whole.tasks[1] == receipt.tasks[1]

"""Which limit prevents that an interrupted effect starts again."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from bridle.loop import effects
from bridle.loop.control.time_used import TIME_IS_OVER, limit_reached
from bridle.loop.performers.earlier_attempts import InterruptedEffect, InterruptedWork
from bridle.loop.process.receipt import Receipt
from bridle.loop.process.task_state import Usage
from tests.loop.fixtures.run_on_engine import RunOnEngine


def test_money_that_results_have_recorded_does_not_stop_the_check_that_follows(tmp_path: Path) -> None:
    run = RunOnEngine(tmp_path, "# One\n\n## One\nCheck: `false`\n")
    assert run.arguments_of(effects.CHECK)
    receipt = Receipt()
    receipt = replace(receipt, known_cost_usd=5.0, limits=replace(receipt.limits, max_cost_usd=5.0))
    assert limit_reached(receipt, InterruptedWork(), run.store) is None
    spent = InterruptedWork({"E": InterruptedEffect("One", Usage(cost_usd=1.0))})
    assert "5.0000 of 5 USD are spent" in (limit_reached(receipt, spent, run.store) or "")
    late = replace(receipt, seconds=receipt.limits.max_seconds)
    assert limit_reached(late, InterruptedWork(), run.store) == TIME_IS_OVER

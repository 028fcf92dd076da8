"""The report of an iteration lists what is pending, and names large inputs instead of printing them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bridle.engine.iterate.iteration_report import Iteration
from bridle.journal.format.documents import BLOB_LIMIT_BYTES
from tests.engine.fixtures.iterated_runs import IteratedRun

LARGE = f"""
async def process(inputs, ctx):
    return await ctx.task(other, {{"text": "x" * {BLOB_LIMIT_BYTES}}})
"""
SLEEPS = """
async def process(inputs, ctx):
    await asyncio.gather(ctx.sleep_until(4102444800000), ctx.sleep_until(4102444700000){more})
"""


def test_large_inputs_are_named_and_not_printed(tmp_path: Path) -> None:
    run = IteratedRun(tmp_path, LARGE)
    for _ in range(2):  # with the request, and again from its file
        (item,) = run.iterate().as_json()["nextActions"]
        assert len(json.dumps(item)) < 2_000
        assert "inputs" not in item["taskDef"]
        assert (run.run / item["inputsRef"]).stat().st_size > BLOB_LIMIT_BYTES
        assert item["taskDef"]["inputsRef"] == item["inputsRef"]


def test_small_inputs_are_printed(tmp_path: Path) -> None:
    run = IteratedRun(tmp_path, "async def process(inputs, ctx):\n    await ctx.task(step, {'n': 1})\n")
    document = run.iterate().as_json()
    (item,) = document["nextActions"]
    assert item["taskDef"]["inputs"] == {"n": 1}
    assert "inputsRef" not in item
    listed = {"effectId": item["effectId"], "kind": "agent", "status": "requested", "label": "Step"}
    assert document["effects"] == [listed]


@pytest.mark.parametrize(
    ("more", "status", "reason", "until"),
    [
        ("", "waiting", "sleep-waiting", 4102444700000),
        (", ctx.breakpoint('?')", "waiting", "mixed-pending:breakpoint,sleep", 4102444700000),
        (", ctx.task(step, {})", "executed", "auto-runnable-tasks", None),
    ],
)
def test_the_kinds_of_pending_effects_decide_the_status(
    tmp_path: Path, more: str, status: str, reason: str, until: int | None
) -> None:
    report = IteratedRun(tmp_path, SLEEPS.replace("{more}", more)).iterate()
    document = report.as_json()
    assert (document["status"], document["reason"], document.get("until")) == (status, reason, until)
    assert document["count"] == len(document["nextActions"]) == 2 + bool(more)
    groups = {item["schedulerHints"]["parallelGroupId"] for item in document["nextActions"]}
    assert len(groups) == 1
    assert len(report.lines()) == document["count"] + 1


def test_fields_without_a_value_are_left_out() -> None:
    assert Iteration("r", "p", 1, "none", "nothing-pending").as_json() == {
        "iteration": 1,
        "iterationCount": 1,
        "status": "none",
        "action": "none",
        "reason": "nothing-pending",
        "metadata": {"runId": "r", "processId": "p", "hookStatus": "skipped"},
    }


def test_an_iteration_that_ends_a_sleep_has_the_next_number(tmp_path: Path) -> None:
    source = """
    async def process(inputs, ctx):
        await ctx.sleep_until(1893499260000)
        await ctx.breakpoint("?")
        await ctx.sleep_until(1893499320000)
    """
    run = IteratedRun(tmp_path, source)
    assert [run.iterate().number for _ in range(2)] == [1, 1]
    run.clock.move(minutes=1)
    assert [run.iterate().number for _ in range(2)] == [2, 2]
    run.post("S000002", {"approved": True})
    assert [run.iterate().number for _ in range(2)] == [3, 3]
    run.clock.move(minutes=1)
    assert [run.iterate().number for _ in range(2)] == [4, 4], "the one that completes the run too"

"""The verdict of a run is that of its tasks, and the commands of a receipt can be copied into a shell."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from bridle.loop.plan.model import Plan, Task
from bridle.loop.process.active_time import ActiveTime
from bridle.loop.process.receipt import build_receipt, verdict
from bridle.loop.process.task_state import RunState, TaskState, Verdict
from bridle.loop.run_inputs import RunInputs
from bridle.loop.settings.limits import Limits
from bridle.loop.settings.model import Settings
from tests.workspace.fixtures.repositories import git

DONE, GUARD, SATISFIED = Verdict.DONE, Verdict.GUARD_ONLY, Verdict.SATISFIED
UNVERIFIED, FAILED, STUCK = Verdict.UNVERIFIED, Verdict.FAILED, Verdict.STUCK
NEEDS_YOU, BLOCKED, PENDING = Verdict.NEEDS_YOU, Verdict.BLOCKED, Verdict.PENDING


def tasks(*verdicts: Verdict) -> list[TaskState]:
    states = [TaskState(title=str(number)) for number in range(len(verdicts))]
    for state, given in zip(states, verdicts, strict=True):
        state.verdict = given
    return states


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([DONE, GUARD, SATISFIED], DONE),
        ([DONE, UNVERIFIED], UNVERIFIED),
        ([DONE, PENDING], PENDING),
        ([UNVERIFIED, PENDING], PENDING),
        ([DONE, FAILED, PENDING], FAILED),
        ([STUCK, BLOCKED], FAILED),
        ([FAILED, NEEDS_YOU, PENDING], NEEDS_YOU),
    ],
)
def test_the_worst_verdict_of_the_tasks_is_that_of_the_run(verdicts: list[Verdict], expected: Verdict) -> None:
    assert verdict(tasks(*verdicts)) == expected


@pytest.mark.parametrize("came_from", ["main", "fix/it", "a;touch${IFS}x", "it's"])
def test_the_commands_of_a_receipt_can_be_copied_into_a_shell(tmp_path: Path, came_from: str) -> None:
    folder = tmp_path / "r"
    folder.mkdir()
    git(folder, "init", "-q", "-b", came_from)
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    git(folder, "checkout", "-q", "-b", "bridle/r1")
    plan = Plan("P", "", (Task("T"),))
    inputs = RunInputs("r1", str(folder), "0" * 40, "bridle/r1", came_from, plan, Settings())
    receipt = build_receipt(inputs, RunState.of(plan), Limits(), time=ActiveTime())
    subprocess.run(["sh", "-c", receipt.merge], cwd=folder, check=True, capture_output=True)
    assert git(folder, "branch", "--show-current").strip() == came_from
    assert receipt.undo == "bridle undo r1"
    assert [path.name for path in folder.iterdir()] == [".git"]

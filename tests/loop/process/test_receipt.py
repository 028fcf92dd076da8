"""The verdict of a run is that of its tasks, and the commands of a receipt can be copied into a shell."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from bridle.loop.effect_results import CheckResult, FileReport, PromptCut
from bridle.loop.plan.model import Plan, Task
from bridle.loop.process.active_time import ActiveTime
from bridle.loop.process.receipt import TaskReceipts, build_receipt, verdict
from bridle.loop.process.task_state import RunState, TaskState, Usage, Verdict
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


# Each of them changes a task as an effect, an answer or the user does.
CHANGES: dict[str, Callable[[TaskState], object]] = {
    "verdict": lambda task: setattr(task, "verdict", DONE),
    "reason": lambda task: setattr(task, "reason", "why"),
    "iterations": lambda task: setattr(task, "iterations", 2),
    "uncounted": lambda task: setattr(task, "uncounted", 1),
    "tries": lambda task: setattr(task, "tries", 1),
    "checks": lambda task: setattr(task, "checks", (CheckResult(command="true", exit_code=1),)),
    "commit": lambda task: setattr(task, "commit", "c0ffee"),
    "question": lambda task: setattr(task, "question", "which?"),
    "usage": lambda task: task.usage.add(Usage(0.5, 1, 2, 3, 4.0)),
    "verified": lambda task: task.verified.add(Usage(0.25)),
    "undone": lambda task: task.undone.append("test_it.py"),
    "reported": lambda task: task.report([FileReport("a.py", "what")]),
    "denials": lambda task: task.denials.append("Bash: rm"),
    "folded": lambda task: task.folded.append("c0ffee"),
    "cut": lambda task: task.cut.append((1, PromptCut(section="notes", characters=2, kept=1))),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_kept_receipt_of_a_task_is_built_again_after_each_change(name: str) -> None:
    plan = Plan("P", "", (Task("T"), Task("U")))
    inputs = RunInputs("r1", "/r", "0" * 40, "bridle/r1", "main", plan, Settings())
    state, built = RunState.of(plan), TaskReceipts()
    state.tasks["T"].usage = Usage(2.0)
    before = build_receipt(inputs, state, Limits(), time=ActiveTime(), built=built)
    CHANGES[name](state.tasks["T"])
    after = build_receipt(inputs, state, Limits(), time=ActiveTime(), built=built)
    assert after.as_json() == build_receipt(inputs, state, Limits(), time=ActiveTime()).as_json()
    assert after.tasks[0] != before.tasks[0]
    assert after.tasks[1] is before.tasks[1]


def test_every_field_of_a_task_is_one_that_its_receipt_has_or_one_that_it_leaves_out() -> None:
    unused = {"title", "needs", "priority", "crashes", "policy_answers", "waits", "last", "checked_on"}
    unused |= {"last_question", "session_id", "session_agent", "first_snapshot", "last_snapshot", "outside"}
    unused |= {"has_work", "was_checked_first", "signatures", "failure", "notes", "answer", "answered", "conflicts"}
    unused |= {"worker", "kept", "landed"}
    assert {*TaskState.__struct_fields__} == {*CHANGES, *unused}

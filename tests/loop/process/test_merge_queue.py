"""Work lands only if its checks, and those of all tasks that have landed, have passed on the merged files."""

from __future__ import annotations

import pytest

from bridle.loop.effect_results import CheckResult, MergeResult
from bridle.loop.effects import Check
from bridle.loop.process.merge_queue import _was_checked
from bridle.loop.process.task_state import TaskState

OWN, OTHER = Check(command="make own", owner="task"), Check(command="make other", owner="Other")
PASSED = CheckResult(command="make own", owner="task", exit_code=0, seconds=0.1)
FAILED_SETUP = CheckResult(command="make deps", owner="setup", exit_code=1, seconds=0.1)


@pytest.mark.parametrize(
    ("required", "merged", "is_checked"),
    [
        ((OWN,), MergeResult(tree="t"), True),
        ((OWN,), MergeResult(tree="u"), False),
        ((OWN, OTHER), MergeResult(tree="t"), False),
        ((OWN,), MergeResult(tree="t", setup=FAILED_SETUP), False),
    ],
    ids=["as they are", "other files", "a check of another task", "the setup failed"],
)
def test_checks_run_on_merged_work_unless_all_have_passed_on_the_same_files(
    required: tuple[Check, ...], merged: MergeResult, *, is_checked: bool
) -> None:
    assert _was_checked(TaskState("One", checks=(PASSED,)), required, merged, "t") is is_checked

"""What counts as a change of the user, and how it reaches the process."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from bridle.errors import UsageError
from bridle.loop.adoption import later_files, unfinished_operations, user_changes
from bridle.loop.effect_results import ChecksResult, UserChanges
from bridle.loop.performers.delivery import Delivery
from bridle.loop.process.receipt import Receipt, TaskReceipt
from bridle.loop.process.task_state import Verdict
from bridle.loop.working_copy.left_state import LeftState
from tests.loop.fixtures.repositories import make_repository

PLAN = "# Plan\n\n## [ ] T\n\n## [ ] Other\n"


def test_changes_are_delivered_with_the_first_result_only() -> None:
    changes = UserChanges(number=1, before="a", tip="b")
    delivery = Delivery(changes)
    assert delivery.stamp(ChecksResult()).user_changes == changes
    assert delivery.stamp(ChecksResult()).user_changes is None


@pytest.mark.parametrize(("tick", "is_ours"), [(True, True), (False, False)])
def test_ticks_in_the_plan_are_ours_only_if_we_tick(tmp_path: Path, *, tick: bool, is_ours: bool) -> None:
    here = make_repository(tmp_path / "r", {"PLAN.md": PLAN}, plan_path="PLAN.md", tick=tick)
    before = here.git("rev-parse", "HEAD^{tree}").strip()
    here.write({"PLAN.md": PLAN.replace("[ ] T", "[x] T")})
    receipt = Receipt(tasks=(TaskReceipt(title="T", verdict=Verdict.DONE), TaskReceipt(title="Other")))
    assert asyncio.run(user_changes._is_ticked(here.context, receipt, before, "PLAN.md")) is is_ours
    here.write({"PLAN.md": PLAN.replace("[ ]", "[x]")})
    assert not asyncio.run(user_changes._is_ticked(here.context, receipt, before, "PLAN.md"))


def test_an_operation_of_an_agent_is_not_refused_and_one_of_the_user_is(tmp_path: Path) -> None:
    here = make_repository(tmp_path / "r", {"a.txt": "1\n"})
    (here.folder / ".git/MERGE_HEAD").write_text(here.git("rev-parse", "HEAD"))
    began = os.lstat(here.folder / ".git/MERGE_HEAD").st_mtime

    def refuse(left: tuple[str, ...] | None, ended_at: float) -> None:
        state = None if left is None else LeftState(1, "left", left)
        asyncio.run(unfinished_operations.refuse_unfinished(here.context, state, ended_at))

    refuse(("merge",), 0.0)
    with pytest.raises(UsageError, match="a merge is in progress"):
        refuse((), 0.0)
    with pytest.raises(UsageError, match="a merge is in progress"):
        refuse(None, began - 60)
    refuse(None, began + 60)


def test_a_file_is_later_if_content_and_name_are(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("x")
    now = os.lstat(path).st_ctime
    assert later_files.is_later(path, now - 60)
    assert not later_files.is_later(path, now + 60)
    os.utime(path, (now - 3600, now - 3600))  # written by an agent, and moved since
    assert not later_files.is_later(path, now - 60)
    os.utime(path, (now + 3600, now + 3600))
    assert not later_files.is_later(path, now + 60)
    assert not later_files.is_later(tmp_path / "missing", 0.0)

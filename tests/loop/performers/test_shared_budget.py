"""One budget for a run, wherever its agents work: what they spend in worktrees is in the user's own budget file."""

from __future__ import annotations

import json
import shutil
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bridle.ground import prices
from tests.loop.fixtures.fake_agent import LIMIT_SECONDS, Project, make_project
from tests.loop.fixtures.loop_commands import ONE_TASK, in_background, receipt_of
from tests.run.fixtures.fake_agent import wait_until

TWO_AT_ONCE = "# Two\n\n## One\nCheck: `test -f one`\n\n## Two\nCheck: `test -f two`\n"
PAID = """
show(type="result", subtype="success", is_error=False, result="x", total_cost_usd=3.01, usage={"input_tokens": 1},
     session_id="s", num_turns=1, duration_ms=1, permission_denials=[])
"""
WAITS = """
usage = {"input_tokens": 1000, "output_tokens": 100}
show(type="assistant", parent_tool_use_id=None, message={"id": "m", "role": "assistant",
     "model": "claude-sonnet-4-5", "content": [{"type": "text", "text": "I begin."}], "usage": usage})
open(calls + task, "w").close()
time.sleep(600)
"""
SPENT = prices.cost_usd("claude-sonnet-4-5", input_tokens=1000, output_tokens=100, input_includes_cached=False)
KILLS = PAID + "time.sleep(1)\nkill_bridle()\ntime.sleep(600)\n"


def budget(here: Project) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((here.folder / ".ralph/state/budget.json").read_text())
    return document


def allow(here: Project, max_cost_usd: float) -> None:
    path = here.folder / ".ralph/state/budget.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    known = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**known, "max_cost_usd": max_cost_usd}))


@pytest.mark.parametrize(("options", "tasks"), [(["--worktree"], ["One"]), (["--parallel", "2"], ["One", "Two"])])
def test_an_interrupt_counts_at_once_what_agents_spent_in_worktrees(
    tmp_path: Path, options: list[str], tasks: list[str]
) -> None:
    here = make_project(tmp_path, ONE_TASK if len(tasks) == 1 else TWO_AT_ONCE, WAITS)
    assert SPENT is not None
    allow(here, SPENT)
    with in_background(here, "run", "PLAN.md", *options) as child:
        wait_until(lambda: all((here.agent_folder / f"calls{task}").exists() for task in tasks))
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=LIMIT_SECONDS)
    assert child.returncode == 130
    counted, amounts = budget(here), ("total_cost_usd", "iterations")
    assert (counted["total_cost_usd"], counted["iterations"]) == (pytest.approx(SPENT * len(tasks)), len(tasks))
    assert here.bridle("ask", "more").returncode != 0
    receipt_of(here.bridle("run", "PLAN.md", "--worktree", "--json"), 3)
    assert [budget(here)[name] for name in amounts] == [counted[name] for name in amounts]
    assert len(here.calls()) == len(tasks)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["ask", "more"], 1),
        (["plan", "Make it.", "--no-questions", "--out", "OTHER.md"], 1),
        (["run", "PLAN.md"], 3),
        (["run", "PLAN.md", "--worktree"], 3),
        (["clean", "--keep", "0.001", "--yes"], 0),
    ],
    ids=["ask", "plan", "run", "worktree", "clean"],
)
def test_the_next_command_counts_what_a_killed_agent_spent_in_a_worktree(
    tmp_path: Path, words: list[str], code: int
) -> None:
    here = make_project(tmp_path, ONE_TASK, KILLS)
    assert here.bridle("run", "PLAN.md", "--worktree").returncode == -9
    allow(here, 3)
    done = here.bridle(*words)
    assert done.returncode == code, done.stderr
    counted = budget(here)
    assert (counted["total_cost_usd"], counted["iterations"]) == (3.01, 1)
    assert len(here.calls()) == 1


def test_a_copy_of_the_repository_does_not_count_what_was_spent_in_worktrees_of_the_original(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, KILLS)
    assert here.bridle("run", "PLAN.md", "--worktree").returncode == -9
    shutil.copytree(here.folder, tmp_path / "copy", symlinks=True)
    for project, spent in ((replace(here, folder=tmp_path / "copy"), 0.0), (here, 3.01)):
        allow(project, 0)
        assert project.bridle("ask", "more").returncode == 1
        assert budget(project)["total_cost_usd"] == spent


def test_an_amount_that_was_lowered_in_a_worktree_does_not_lower_the_shared_one(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, PAID + "open('one', 'w').close()")
    receipt_of(here.bridle("run", "PLAN.md", "--worktree", "--json"), 0)
    assert budget(here)["total_cost_usd"] == 3.01
    (own,) = (here.folder / ".ralph/worktrees").glob("*/.ralph/state/budget.json")
    own.write_text(json.dumps({**json.loads(own.read_text()), "total_cost_usd": 0.0}))
    allow(here, 3)
    assert here.bridle("ask", "more").returncode == 1
    assert budget(here)["total_cost_usd"] == 3.01

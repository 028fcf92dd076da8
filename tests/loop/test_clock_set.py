"""A system clock that is set by days, in either direction, spends no time of a run and holds up no wait."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures import bridle_with_set_clock
from tests.loop.fixtures.fake_agent import LIMIT_SECONDS, Project, make_project
from tests.loop.fixtures.loop_commands import ONE_TASK, TWO_TASKS, assert_replays, current_wait, in_background, verdicts
from tests.run.fixtures.fake_agent import wait_until

DAYS = 3 * 24 * 60 * 60
HOUR = 60 * 60
OVERLOADED = """
if number == 1: end("success", True, "API Error: 529 Overloaded", api_error_status=529)
open(task.lower(), "w").close()
"""
# It says what it has cost, and takes Bridle with it.
KILLS = """
show(type="result", subtype="success", is_error=False, result="x", total_cost_usd=3.0, usage={"input_tokens": 1},
     session_id="s", num_turns=1, duration_ms=1, permission_denials=[])
time.sleep(1)
kill_bridle()
time.sleep(600)
"""


def clock_file(here: Project) -> Path:
    return here.agent_folder / "clock"


def program(here: Project) -> list[str]:
    """The words that start `bridle` on a machine whose clock the test sets."""
    if not clock_file(here).exists():
        clock_file(here).write_text("0")
    return [sys.executable, bridle_with_set_clock.__file__, str(clock_file(here))]


def run(here: Project, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*program(here), *words],
        cwd=here.folder,
        env=here.environment(),
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )


def receipt(done: subprocess.CompletedProcess[str], code: int = 0) -> dict[str, Any]:
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    document: dict[str, Any] = json.loads(done.stdout)
    return document


@pytest.mark.parametrize("direction", [1, -1])
def test_days_by_which_the_clock_is_set_are_no_time_of_the_run(tmp_path: Path, direction: int) -> None:
    sets = f"open({str(tmp_path / 'beside/clock')!r}, 'w').write(str({direction * DAYS} * number))\n"
    here = make_project(tmp_path, TWO_TASKS, sets + "open(task.lower(), 'w').close()")
    document = receipt(run(here, "run", "PLAN.md", "--json", "--max-time", "1h"))
    assert verdicts(document) == {"One": "done", "Two": "done"}
    assert 0 < document["seconds"] < HOUR
    assert all(0 <= check["seconds"] < HOUR for task in document["tasks"] for check in task["checks"])
    assert_replays(here)


@pytest.mark.parametrize("direction", [1, -1])
def test_the_same_holds_for_an_iteration_that_is_interrupted(tmp_path: Path, direction: int) -> None:
    sets = f"open({str(tmp_path / 'beside/clock')!r}, 'w').write('{direction * DAYS}')\n"
    here = make_project(tmp_path, ONE_TASK, sets + "if number == 1: time.sleep(600)\nopen('one', 'w').close()")
    with in_background(here, "run", "PLAN.md", "--json", "--max-time", "1h", program=program(here)) as child:
        wait_until(lambda: here.calls() and clock_file(here).read_text() == str(direction * DAYS))
        child.send_signal(signal.SIGINT)
        printed, _ = child.communicate(timeout=LIMIT_SECONDS)
    assert child.returncode == 130
    interrupted = json.loads(printed)["seconds"]
    assert 0 < interrupted < HOUR
    document = receipt(run(here, "resume", "--json"))
    assert verdicts(document) == {"One": "done"}
    assert interrupted < document["seconds"] < HOUR
    assert_replays(here)


def test_a_wait_takes_no_longer_where_the_clock_is_set_back(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, OVERLOADED)
    with in_background(here, "run", "PLAN.md", "--json", program=program(here)) as child:
        wait_until(lambda: current_wait(here) is not None)
        clock_file(here).write_text(str(-DAYS))
        printed, _ = child.communicate(timeout=LIMIT_SECONDS)
    assert child.returncode == 0
    assert verdicts(json.loads(printed)) == {"One": "done"}


def test_nor_where_it_is_set_back_while_no_driver_runs(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, OVERLOADED)
    with in_background(here, "run", "PLAN.md", "--json", program=program(here)) as child:
        wait_until(lambda: current_wait(here) is not None)
        os.killpg(child.pid, signal.SIGKILL)
    clock_file(here).write_text(str(-DAYS))
    assert verdicts(receipt(run(here, "resume", "--json"))) == {"One": "done"}


def test_the_cost_of_killed_agents_is_found_whatever_the_clock_said_when_they_were_started(tmp_path: Path) -> None:
    here = make_project(tmp_path, ONE_TASK, KILLS)
    assert run(here, "run", "PLAN.md").returncode == -9
    clock_file(here).write_text(str(-DAYS))
    assert run(here, "resume").returncode == -9
    clock_file(here).write_text(str(DAYS))
    document = receipt(run(here, "status", "--json"))
    assert (document["cost_usd"], document["wasted_usd"]) == (6.0, 6.0)
    assert 0 < document["seconds"] < HOUR

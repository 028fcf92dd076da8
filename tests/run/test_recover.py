"""A run whose Bridle was killed is counted once, from its log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bridle.run import sessions
from bridle.run.budget import Budget, budget_file
from bridle.run.logs import FOLDER
from bridle.run.recover import lock_note, recover
from tests.run.fixtures.fake_agent import SESSION, init, result

STATE = ".ralph/state"


def state(cwd: Path, name: str) -> Any:
    return json.loads((cwd / STATE / name).read_bytes())


def test_a_lost_run_is_counted_once_however_often_it_is_killed_over_it(tmp_path: Path) -> None:
    folder = tmp_path / FOLDER
    folder.mkdir(parents=True)
    (folder / "run.ndjson").write_text(init() + result(total_cost_usd=0.5))
    (folder / "run.meta.json").write_text('{"agent": "claude", "mode": "coder"}')
    before = Budget(total_cost_usd=1.0, iterations=3)
    work = lock_note("run.ndjson", before)

    counted = recover(tmp_path, work, before)
    assert counted is not None
    assert (counted[0].iterations, counted[0].total_cost_usd) == (4, 1.5)
    assert recover(tmp_path, work, counted[0]) is None, "killed after it was counted, before the lock said so"
    assert sessions.read(tmp_path).coder == SESSION


def test_a_lost_run_that_printed_nothing_cost_nothing(tmp_path: Path) -> None:
    folder = tmp_path / FOLDER
    folder.mkdir(parents=True)
    (folder / "run.ndjson").touch()
    assert recover(tmp_path, lock_note("run.ndjson", Budget()), Budget()) is None
    assert not budget_file(tmp_path).exists()


def test_a_lost_run_with_a_damaged_description_is_counted_and_the_damage_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / FOLDER
    folder.mkdir(parents=True)
    (folder / "run.ndjson").write_text(init() + result(total_cost_usd=0.5))
    (folder / "run.meta.json").write_text("{torn")
    counted = recover(tmp_path, lock_note("run.ndjson", Budget()), Budget())
    assert counted is not None
    assert counted[0].total_cost_usd == 0.5
    assert (folder / "run.meta.json").read_text() == "{torn"

"""What a check leaves in Bridle's own state files ends no run: it is put aside and reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from bridle.ground import clock
from bridle.run import budget, sessions
from bridle.run.budget import Budget
from bridle.run.request import Mode
from tests.loop.fixtures.repositories import make_repository

STATE = ".ralph/state"


@pytest.mark.without_sandbox("changes what the sandbox protects")
def test_damaged_state_is_put_aside_and_restored(tmp_path: Path) -> None:
    here = make_repository(tmp_path / "r", {"a.txt": "one\n"})
    here.start()
    before = budget.write(here.folder, Budget(known_cost_usd=2.0, iterations=3, max_cost_usd=9.0))
    session = "10f6d3c2-0000-4000-8000-000000000001"
    sessions.remember(here.folder, Mode.CODER, session, clock.now())
    damage = f"echo garbage > {STATE}/budget.json; echo [] > {STATE}/claude-session.json"
    assert here.check(damage)["passed"]
    assert budget.read(here.folder) == before
    assert sessions.read(here.folder).coder == session
    assert len(list((here.folder / STATE).glob("*.damaged-*"))) == 2
    assert here.check(f"rm {STATE}/budget.json; mkdir {STATE}/budget.json")["passed"]
    assert budget.read(here.folder) == before
    forged = '{"total_cost_usd": 0, "iterations": 0, "max_cost_usd": 999}'
    assert here.check(f"echo '{forged}' > {STATE}/budget.json")["passed"]
    assert budget.read(here.folder) == before
    lines = "\n".join(here.printed)
    assert f"{STATE}/budget.json was damaged while a check ran" in lines
    assert f"{STATE}/claude-session.json was damaged while a check ran" in lines
    assert "was changed while a check ran; the amounts and limits from before count" in lines

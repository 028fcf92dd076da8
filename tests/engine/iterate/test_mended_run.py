"""A run that failed and waits again, since its process was fixed: every command says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bridle.engine.iterate.compare import compare
from bridle.journal.format import layout
from bridle.journal.stores.file_reader import FileReader
from bridle.journal.upkeep.audit import audit
from tests.engine.fixtures.iterated_runs import IteratedRun
from tests.fixtures.bridle_program import run_bridle

PROCESS = """
async def process(inputs, ctx):
    first, second = ctx.task(step, 1), ctx.task(step, 2)
    value = await first
    %s
    return [value, await second]
"""


@pytest.fixture
def mended(tmp_path: Path) -> IteratedRun:
    """A run whose second effect was pending when its process failed."""
    run = IteratedRun(tmp_path, PROCESS % "raise ValueError('a fault')")
    run.iterate()
    run.post("1", "one")
    assert run.iterate().status == "failed"
    run.write(PROCESS % "pass")
    return run


def test_status_iterate_audit_and_replay_agree_on_a_run_that_waits_again(mended: IteratedRun) -> None:
    assert [difference.message for difference in compare(mended.run).differences]  # it is still recorded as failed
    assert mended.iterate().status == "executed"
    found = run_bridle("run:status", str(mended.run), "--json", cwd=mended.folder)
    status = json.loads(found.stdout)
    assert status["state"] == "waiting"
    assert status["lastEvent"]["type"] == "BRIDLE_RUN_CONTINUED"
    assert FileReader(mended.run).position().end is None
    assert FileReader(mended.run).state().position.end is None
    assert compare(mended.run).differences == ()
    assert audit(mended.run).wrong == []
    assert mended.iterate().status == "executed"
    assert mended.types().count("BRIDLE_RUN_CONTINUED") == 1
    mended.post("2", "two")
    assert mended.iterate().output == ["one", "two"]
    assert FileReader(mended.run).position().end == "completed"


def test_a_run_that_waits_again_can_fail_again(mended: IteratedRun) -> None:
    mended.iterate()
    mended.write(PROCESS % "raise ValueError('a fault')")
    assert mended.iterate().status == "failed"
    assert [kind for kind in mended.types() if kind.startswith("RUN_") or kind.endswith("CONTINUED")] == [
        "RUN_FAILED",
        "BRIDLE_RUN_CONTINUED",
        "RUN_FAILED",
    ]
    (mended.run / layout.STATE / layout.PACK_FILE).unlink()
    assert FileReader(mended.run).position().end == "failed"

"""Summaries of parallel tasks: one at a time, since they replace the same entries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bridle.engine.iterate.iteration_report import Action
from bridle.journal.format.entries import OK, Posted
from bridle.loop import effects
from tests.loop.fixtures.run_on_engine import STAMP, RunOnEngine

PLAN = "# T\n\n## One\nCheck: `a`\n\n## Two\nCheck: `b`\n"


def result_of(action: Action) -> dict[str, Any]:
    """The result of an effect of a task that is done in its first iteration."""
    args: Any = action.task.inputs
    commit = {"commit": "c" * 40, "head": "c" * 40, "tree": "t"}
    if action.effect.kind == effects.CHECK:
        code = int(args["when"] == effects.BEFORE_WORK)
        checked = [{**check, "exit_code": code, "seconds": 0.1, "output": ""} for check in args["checks"]]
        return {"tree": "t", "passed": code == 0, "results": checked}
    work = {"ending": "ok", "cost_usd": 0.25, "changed": True, "done": True, "tree": "t"}
    results: dict[str, dict[str, Any]] = {
        effects.PREPARE_COPY: {"head": "b" * 40, "tree": "t"},
        effects.WORK: work,
        effects.PROTECT: {"changed": True, "undone": [], "reported": []},
    }
    return results.get(action.effect.kind, commit)


def post_all(run: RunOnEngine) -> list[Action]:
    """Post results of all effects except summaries, until only these are pending; return them."""
    while True:
        pending = run.pending()
        others = [action for action in pending if action.effect.kind != effects.SUMMARIZE]
        if not others:
            return pending
        for action in others:
            with run.store.write("test") as writer:
                posted = Posted(OK, value=result_of(action), started_at=STAMP, finished_at=STAMP)
                writer.resolve(action.effect.effect_id, posted)


def test_summaries_that_fall_due_together_are_one(tmp_path: Path) -> None:
    run = RunOnEngine(tmp_path, PLAN, summarize_every=1, parallel=2)
    (summary,) = post_all(run)
    assert summary.effect.kind == effects.SUMMARIZE
    run.post(effects.SUMMARIZE, {"cost_usd": 0.5})
    assert post_all(run) == []
    assert run.receipt()["verdict"] == "done"

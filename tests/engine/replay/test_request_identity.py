"""A task says which part of its arguments makes it the same request: the rest may be worded differently on replay."""

from __future__ import annotations

from pathlib import Path

import pytest

from bridle.engine.iterate.compare import compare
from bridle.engine.iterate.iteration_report import WAITING
from bridle.errors import ProcessDiverged
from tests.engine.fixtures.iterated_runs import IteratedRun

PROCESS = """
def decisions(args):
    return {"task": args["task"]}

review = define_task("review", lambda args, task: {"kind": "agent", "title": "Review"}, identity=decisions)

async def process(inputs, ctx):
    first = await ctx.task(review, {"task": "TASK", "why": "WHY"})
    await ctx.breakpoint({"question": "Done?"})
    return first
"""


def waiting(folder: Path) -> IteratedRun:
    """Make a run whose first request has its result."""
    run = IteratedRun(folder, PROCESS)
    run.iterate()
    run.post("1", {"ok": True})
    run.iterate()
    return run


def test_arguments_that_are_worded_differently_are_the_same_request(tmp_path: Path) -> None:
    run = waiting(tmp_path)
    run.write(PROCESS.replace("WHY", "because"))
    assert run.iterate().status == WAITING
    assert compare(run.run).agrees


def test_arguments_that_differ_in_their_identity_diverge(tmp_path: Path) -> None:
    run = waiting(tmp_path)
    run.write(PROCESS.replace("TASK", "another"))
    with pytest.raises(ProcessDiverged, match="another"):
        run.iterate()
    assert not compare(run.run).agrees


def test_without_an_identity_every_argument_counts(tmp_path: Path) -> None:
    run = waiting(tmp_path)
    run.write(PROCESS.replace("WHY", "because").replace(", identity=decisions", ""))
    with pytest.raises(ProcessDiverged, match="because"):
        run.iterate()

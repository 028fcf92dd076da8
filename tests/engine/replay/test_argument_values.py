"""The values that a process passes on: what cannot be stored as it is, is refused at the call, in every replay."""

from __future__ import annotations

from pathlib import Path

import pytest

from bridle.engine.iterate.compare import compare
from bridle.engine.iterate.iteration_report import COMPLETED, EXECUTED
from bridle.journal.format.input_values import DEPTH_LIMIT
from tests.engine.fixtures.iterated_runs import IteratedRun

PROCESS = """
deep = 1
for _ in range({levels}):
    deep = [deep]

async def process(inputs, ctx):
    try:
        await {call}
    except Exception as error:
        first = [type(error).__name__, str(error)]
    return [first, await ctx.task(step, {{"n": 2}})]
"""

KEYS = ['{1: "a", "b": "c"}', '{True: 1, "true": 2}', '{1: "a", 2: "b"}', '{"a": [{None: 1}]}']


@pytest.mark.parametrize("keys", KEYS)
@pytest.mark.parametrize("call", ["ctx.task(step, {})", "ctx.breakpoint({})", "ctx.hook('custom', {})"])
def test_a_key_that_is_not_text_is_refused_at_the_call_in_every_replay(tmp_path: Path, call: str, keys: str) -> None:
    run = IteratedRun(tmp_path, PROCESS.format(levels=1, call=call.replace("{}", keys)))
    assert run.iterate().status == EXECUTED
    run.post(run.iterate().actions[0].effect.step_id, "done")
    done = run.iterate()
    assert (done.status, done.output[0][0], done.output[1]) == (COMPLETED, "BadTask", "done")
    assert "is not text" in done.output[0][1] or "cannot be written as JSON" in done.output[0][1]
    assert compare(run.run).agrees


def test_keys_that_were_stored_as_text_by_earlier_versions_are_the_same_request(tmp_path: Path) -> None:
    source = "async def process(inputs, ctx): return await ctx.task(step, {KEYS})"
    run = IteratedRun(tmp_path, source.replace("KEYS", '"1": "a", "2": "b"'))
    run.iterate()
    run.write(source.replace("KEYS", '1: "a", 2: "b"'))
    run.post("1", "done")
    assert run.iterate().output == "done"
    assert compare(run.run).agrees


@pytest.mark.parametrize("levels", [DEPTH_LIMIT + 1, 494, 600, 900])
@pytest.mark.parametrize("call", ["ctx.task(step, deep)", "ctx.breakpoint(deep)", "ctx.hook('custom', deep)"])
def test_too_many_levels_are_refused_at_the_call(tmp_path: Path, call: str, levels: int) -> None:
    run = IteratedRun(tmp_path, PROCESS.format(levels=levels, call=call))
    assert run.iterate().status == EXECUTED
    run.post(run.iterate().actions[0].effect.step_id, "done")
    done = run.iterate()
    assert (done.status, done.output[0][0]) == (COMPLETED, "BadTask")
    assert "nested more than" in done.output[0][1] or "recursion" in done.output[0][1]


def test_the_most_levels_that_are_accepted_can_be_stored_and_read_again(tmp_path: Path) -> None:
    source = """
        async def process(inputs, ctx):
            await ctx.task(step, inputs)
            return await ctx.task(step, {"n": 2})
    """
    deep: object = 1
    for _ in range(DEPTH_LIMIT):
        deep = {"a": deep}
    run = IteratedRun(tmp_path, source, inputs=deep)
    run.iterate()
    run.post("1", deep)
    run.iterate()
    run.post("2", deep)
    assert run.iterate().output == deep
    assert compare(run.run).agrees

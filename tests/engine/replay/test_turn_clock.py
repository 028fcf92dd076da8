"""The clock of a process: recorded with the result that it follows, and not before the end of a sleep."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bridle.engine.iterate.compare import compare
from bridle.engine.replay.recorded import Recording
from bridle.engine.replay.turn_clock import TurnClock
from bridle.errors import JournalBroken
from bridle.journal.format import layout
from bridle.journal.format.entries import OK, Posted
from bridle.journal.upkeep import repair
from tests.engine.fixtures.iterated_runs import IteratedRun

BRANCHES = """
async def branch(ctx, name):
    await ctx.task(step, {"name": name}, key=f"first {name}")
    hooked = await ctx.hook("custom", {"name": name})
    at = ctx.now()
    await ctx.task(other, {"at": at.isoformat(), "hooked": hooked}, key=f"second {name}")
    return ctx.now().isoformat()

async def process(inputs, ctx):
    return await asyncio.gather(branch(ctx, "a"), branch(ctx, "b"))
"""


def branches(folder: Path) -> IteratedRun:
    """A run whose two branches have got their results one after the other, a minute apart."""
    run = IteratedRun(folder, BRANCHES)
    run.iterate()
    for step in ("first a", "first b", "second a"):
        run.clock.move(minutes=1)
        run.post(step, step)
        run.iterate()
    return run


def tear(run: IteratedRun, entry_type: str, text: str) -> None:
    """Tear the first entry of the type that contains the text; no cache has it."""
    shutil.rmtree(run.run / layout.STATE)
    for path in sorted((run.run / layout.JOURNAL).iterdir()):
        content = path.read_text(encoding="utf-8")
        if f'"type": "{entry_type}"' in content and text in content:
            path.write_text(content[:-20], encoding="utf-8")
            return
    raise AssertionError(f"no {entry_type} with {text}")


def mend(run: IteratedRun) -> None:
    with pytest.raises(JournalBroken):
        run.iterate()
    repair.carry_out(run.run, repair.plan_repair(run.run))


def finish(run: IteratedRun) -> None:
    """Post what is pending until the run completes, long after its first part."""
    run.clock.move(hours=1)
    for _ in range(4):
        found = run.iterate()
        if found.status == "completed":
            break
        for action in found.actions:
            run.post(action.effect.step_id, action.effect.step_id)
    assert run.iterate().status == "completed"
    assert compare(run.run).differences == ()


def test_clock_readings_and_hooks_survive_the_loss_of_a_result(tmp_path: Path) -> None:
    run = branches(tmp_path)
    tear(run, "EFFECT_RESOLVED", run.effect("first a").effect_id)
    mend(run)
    assert [action.effect.step_id for action in run.iterate().actions] == ["first a", "second b"]
    finish(run)


def test_a_hook_whose_request_was_lost_does_not_run_again(tmp_path: Path) -> None:
    run = branches(tmp_path)
    tear(run, "BRIDLE_HOOK_REQUESTED", "H000001")
    mend(run)
    run.iterate()
    assert run.types().count("BRIDLE_HOOK_RESOLVED") == 2
    finish(run)


def test_a_hook_whose_result_was_lost_runs_again(tmp_path: Path) -> None:
    run = branches(tmp_path)
    tear(run, "BRIDLE_HOOK_RESOLVED", "H000001")
    mend(run)
    run.iterate()
    assert run.types().count("BRIDLE_HOOK_RESOLVED") == 2
    finish(run)


def test_numbered_readings_of_earlier_versions_are_used_as_they_are(tmp_path: Path) -> None:
    source = """
async def process(inputs, ctx):
    await ctx.task(step, 1)
    first = ctx.now()
    await ctx.sleep_until(first + timedelta(microseconds=500))
    return await ctx.task(step, [first.isoformat(), ctx.now().isoformat()])
"""
    run = IteratedRun(tmp_path, source)
    run.iterate()
    run.post("1")
    at = "2030-01-01T12:00:00.000Z"
    passed = {"stepId": "S000002", "iso": at, "targetEpochMs": 1893499200000, "now": "2030-01-01T12:00:01.000Z"}
    with run.store.write("an earlier version") as writer:
        writer.append("BRIDLE_CLOCK_READ", {"turn": 1, "now": at})
        writer.append("BRIDLE_SLEEP_PASSED", passed)
    run.clock.move(hours=1)
    run.iterate()
    same = "2030-01-01T12:00:00+00:00"
    assert run.store.task(run.effect("3")).inputs == [same, same]


@pytest.mark.parametrize("late_ms", [0, 1])
def test_the_time_after_a_sleep_is_not_before_its_target(tmp_path: Path, late_ms: int) -> None:
    source = """
async def process(inputs, ctx):
    deadline, sleeps = ctx.now() + timedelta(seconds=1, microseconds=300), 0
    while ctx.now() < deadline:
        sleeps += 1
        assert sleeps < 5, "the loop does not end"
        await ctx.sleep_until(deadline)
    return sleeps
"""
    run = IteratedRun(tmp_path, source)
    run.iterate()
    run.clock.move(seconds=1, milliseconds=late_ms)
    assert run.iterate().output == 1
    assert compare(run.run).differences == ()


def test_the_time_after_a_sleep_that_was_over_when_it_was_requested_is_not_before_that_moment(tmp_path: Path) -> None:
    source = """
async def process(inputs, ctx):
    deadline, sleeps = ctx.now() + timedelta(microseconds=300), 0
    while ctx.now() < deadline:
        sleeps += 1
        assert sleeps < 5, "the loop does not end"
        await ctx.sleep_until(deadline)
    return [sleeps, (ctx.now() - deadline).total_seconds()]
"""
    run = IteratedRun(tmp_path, source)
    assert run.iterate().output == [1, 0.0]
    assert compare(run.run).differences == ()


def test_a_sleep_that_a_user_ends_early_does_not_move_the_clock(tmp_path: Path) -> None:
    source = """
async def process(inputs, ctx):
    await ctx.sleep_until("2030-01-02T00:00:00Z")
    return ctx.now().isoformat()
"""
    run = IteratedRun(tmp_path, source)
    run.iterate()
    with run.store.write("a user") as writer:
        now = "2030-01-01T12:00:00.000Z"
        writer.resolve(run.effect("1").effect_id, Posted(OK, started_at=now, finished_at=now))
    assert run.iterate().output == "2030-01-01T12:00:00+00:00"


def test_a_sleep_task_ends_at_its_time(tmp_path: Path) -> None:
    source = """
from bridle import sleep_task

nap = sleep_task("nap", until=lambda args, task: args["until"])

async def process(inputs, ctx):
    until = ctx.now() + timedelta(seconds=2)
    await ctx.task(nap, {"until": until.isoformat()})
    return ctx.now() >= until
"""
    run = IteratedRun(tmp_path, source)
    assert run.iterate().status == "waiting"
    run.clock.move(seconds=1)
    assert run.iterate().status == "waiting"
    run.clock.move(seconds=1)
    assert run.iterate().output is True
    assert compare(run.run).differences == ()


def test_after_two_sleeps_the_clock_is_not_before_the_end_of_either() -> None:
    now = datetime(2026, 11, 15, 12, tzinfo=UTC)
    clock = TurnClock(Recording(), lambda: now)
    later, earlier = now + timedelta(hours=2), now + timedelta(hours=1)
    clock.pass_moment(later)
    clock.pass_moment(earlier)
    assert clock.read()[0] == later
    assert clock.read() == (later, None)


def test_sleeps_that_are_due_together_end_in_the_order_of_their_times(tmp_path: Path) -> None:
    source = """
    async def process(inputs, ctx):
        began = ctx.now()
        await asyncio.gather(*[ctx.sleep_until(began + timedelta(minutes=minutes)) for minutes in (3, 1, 2)])
    """
    run = IteratedRun(tmp_path, source)
    run.iterate()
    run.clock.move(minutes=5)
    assert run.iterate().status == "completed"
    ended = [entry.data["effectId"] for entry in run.entries() if entry.type == "EFFECT_RESOLVED"]
    assert ended == [run.effect(step).effect_id for step in ("2", "3", "1")]

"""A cancelled effect has ended before the driver goes on; answers and locks of others are respected."""

from __future__ import annotations

import asyncio
import fcntl
import os
from pathlib import Path
from typing import Any

import pytest

from bridle.engine import inbox
from bridle.engine.drive.driver import DriveOptions, Driver
from bridle.engine.drive.effects_in_progress import EffectsInProgress
from bridle.engine.drive.performer import Job
from bridle.engine.hooks.run_hooks import Hooks
from bridle.engine.iterate.iterate import iterate
from bridle.errors import JournalBroken, LockHeld
from bridle.journal.format.entries import OK, Posted
from bridle.journal.stores.file_store import FileStore, LockedWriter
from tests.engine.fixtures.driven_runs import DrivenRun, new_driven_run


class Worker:
    """A performer of the kind `work`: returns at once, or needs a moment to end when it is cancelled."""

    may_repeat = True

    def __init__(self) -> None:
        self.events: list[str] = []
        self.has_begun = asyncio.Event()

    async def perform(self, job: Job) -> Posted:
        if job.task.document["words"] == "quick":
            await self.has_begun.wait()
            return Posted(OK, value=1, started_at="x", finished_at="x")
        try:
            self.has_begun.set()
            await asyncio.Event().wait()
        finally:
            for _ in range(100):
                await asyncio.sleep(0)
            self.events.append("ended")
        raise AssertionError("it waits for ever")

    async def clear(self, job: Job) -> None:
        pass


def driver(driven: DrivenRun, worker: Worker, **more: Any) -> Driver:
    return Driver(
        more.pop("open_store", lambda: FileStore(driven.run)),
        driven.run,
        Hooks(driven.folder, driven.environment, enabled=False),
        DriveOptions(**more.pop("options", {})),
        environment=driven.environment,
        performers={"work": worker},
        **more,
    )


def test_an_effect_that_the_process_cancels_has_ended_before_the_driver_goes_on(tmp_path: Path) -> None:
    source = """
async def process(inputs, ctx):
    ctx.report_state = lambda: "cancelled" if slow.cancelled() else "begun"
    slow = ctx.task(free, {"kind": "work", "words": "slow"})
    await ctx.task(free, {"kind": "work", "words": "quick"})
    slow.cancel()
    await ctx.breakpoint({"question": "Go on?"})
"""
    driven = new_driven_run(tmp_path, source, has_git=False)

    async def main() -> list[str]:
        worker = Worker()
        await driver(driven, worker, on_process_state=worker.events.append).drive()
        return worker.events

    events = asyncio.run(main())
    assert events.index("ended") < events.index("cancelled")


class SlowClearer(Worker):
    """A performer that has not cleared up after its first effect when the process goes on after the second."""

    def __init__(self) -> None:
        super().__init__()
        self.has_gone_on = asyncio.Event()

    def note(self, state: object) -> None:
        self.events.append(str(state))
        if state == "second done":
            self.has_gone_on.set()

    async def perform(self, job: Job) -> Posted:
        if job.task.document["words"] == "second":
            await self.has_begun.wait()
        return Posted(OK, value=1, started_at="x", finished_at="x")

    async def clear(self, job: Job) -> None:
        if job.task.document["words"] == "first":
            self.has_begun.set()
            await self.has_gone_on.wait()
            self.events.append("cleared")


def test_an_effect_whose_result_is_written_is_not_cancelled_while_it_clears_up(tmp_path: Path) -> None:
    source = """
async def process(inputs, ctx):
    ctx.report_state = lambda: "second done" if second.done() else "begun"
    ctx.task(free, {"kind": "work", "words": "first"})
    second = ctx.task(free, {"kind": "work", "words": "second"})
    await second
    await ctx.breakpoint({"question": "Go on?"})
"""
    driven = new_driven_run(tmp_path, source, has_git=False)

    async def main() -> tuple[list[str], list[str]]:
        worker, printed = SlowClearer(), list[str]()
        await driver(driven, worker, on_process_state=worker.note, say=printed.append).drive()
        return worker.events, printed

    events, printed = asyncio.run(main())
    assert "cleared" in events
    assert not [line for line in printed if "cancelled" in line]


def test_a_driver_that_is_cancelled_ends_after_its_effects(tmp_path: Path) -> None:
    source = "async def process(inputs, ctx): await ctx.task(free, {'kind': 'work', 'words': 'slow'})"
    driven = new_driven_run(tmp_path, source, has_git=False)

    async def main() -> list[str]:
        worker = Worker()
        driving = asyncio.create_task(driver(driven, worker).drive())
        driving.add_done_callback(lambda _task: worker.events.append("driver ended"))
        await worker.has_begun.wait()
        driving.cancel()
        await asyncio.wait([driving])
        return worker.events

    assert asyncio.run(main())[0] == "ended"


class FasterUser(FileStore):
    """A store whose user answers right before the driver does."""

    def write(self, owner: str, *, wait_seconds: float = 10.0) -> LockedWriter:
        store = FileStore(self.run)
        for effect in store.state().pending if owner == inbox.OWNER else ():
            inbox.answer(store, effect.effect_id, "no", by="user")
        return super().write(owner, wait_seconds=wait_seconds)


def test_the_answer_of_a_user_who_is_faster_than_the_policy_counts(tmp_path: Path) -> None:
    source = "async def process(inputs, ctx): return await ctx.breakpoint({'question': 'Ship it?'})"
    driven = new_driven_run(tmp_path, source, has_git=False)

    async def main() -> str:
        options = {"breakpoints": "approve"}
        result = await driver(driven, Worker(), open_store=lambda: FasterUser(driven.run), options=options).drive()
        return result.status

    assert asyncio.run(main()) == "completed"
    assert driven.output()["respondedBy"] == "user"


def test_a_lock_without_a_note_of_its_holder_is_that_of_another_driver(tmp_path: Path) -> None:
    driven = new_driven_run(tmp_path, "async def process(inputs, ctx): return 1", has_git=False)
    fd = os.open(driven.run / "bridle-drive.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        with pytest.raises(LockHeld, match=r"another driver runs r1: .* is locked by an unknown process"):
            driven.drive()
    finally:
        os.close(fd)


class Payer(Worker):
    """A performer whose agents cost what their task says."""

    async def perform(self, job: Job) -> Posted:
        metadata = {"costUsd": job.task.document.get("cost")}
        return Posted(OK, value=1, metadata=metadata, started_at="x", finished_at="x")


def test_a_cost_that_is_known_does_not_make_an_earlier_one_known(tmp_path: Path) -> None:
    source = """
    async def process(inputs, ctx):
        for cost in (0.25, None, 0.5):
            await ctx.task(free, {"kind": "work", "cost": cost})
    """
    driven = new_driven_run(tmp_path, source, has_git=False)

    async def main() -> tuple[float | None, float]:
        result = await driver(driven, Payer()).drive()
        return result.cost_usd, result.known_cost_usd

    assert asyncio.run(main()) == (None, 0.75)


def run_with_result(folder: Path, *, is_executed: bool) -> DrivenRun:
    """A run whose last entry is the result of an effect of the driver, which may still have been executed."""
    source = "async def process(inputs, ctx): return await ctx.task(free, {'kind': 'bridle.work'})"
    driven = new_driven_run(folder, source, has_git=False)
    store = FileStore(driven.run)
    iterate(store, driven.run, Hooks(driven.folder, driven.environment, enabled=False))
    (effect,) = store.state().pending
    if is_executed:
        EffectsInProgress(driven.run, os.environ).begin(effect.effect_id)
    with store.write("drive") as writer:
        writer.resolve(effect.effect_id, Posted(OK, value="earlier", started_at="x", finished_at="x"))
    return driven


def test_the_last_result_of_an_earlier_driver_counts(tmp_path: Path) -> None:
    driven = run_with_result(tmp_path, is_executed=False)
    assert driven.drive(performers={"bridle.work": Payer()}).status == "completed"
    assert driven.output() == "earlier"


def test_a_result_of_an_effect_that_a_killed_driver_was_executing_is_refused(tmp_path: Path) -> None:
    driven = run_with_result(tmp_path, is_executed=True)
    with pytest.raises(JournalBroken, match="that no driver wrote"):
        driven.drive(performers={"bridle.work": Payer()})

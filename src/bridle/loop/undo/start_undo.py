"""`bridle undo` from a run's folder to what it did: checks, locks, and the steps."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path

from msgspec import Struct

from bridle.engine.drive.driver_lock import find_driver
from bridle.engine.drive.wait_for_driver import driver_ended_at, take_lock
from bridle.errors import UsageError
from bridle.ground.git_exclude import ignore_contents
from bridle.journal.stores.file_store import FileStore
from bridle.loop.adoption.unfinished_operations import refuse_users
from bridle.loop.performers import progress_file
from bridle.loop.performers.evidence import expect_records
from bridle.loop.run_inputs import read_inputs
from bridle.loop.undo import undo_entries, undo_plan, undo_run
from bridle.loop.undo.undo_entries import UndoState
from bridle.loop.undo.undo_plan import UndoPlan
from bridle.loop.undo.undo_run import Undone
from bridle.loop.working_copy import left_state, stale_git_locks, uncommitted_work
from bridle.loop.working_copy.run_context import RunContext, Say, run_context
from bridle.loop.working_copy.run_lock import hold_working_copy
from bridle.workspace import gc_lock
from bridle.workspace.git_folder import damaged_files, special_files
from bridle.workspace.repair import git_leftovers


class UndoRequest(Struct, frozen=True):
    """A run that can be undone, and what that means."""

    context: RunContext
    store: FileStore
    plan: UndoPlan
    state: UndoState


async def prepare(run: Path, environment: Mapping[str, str], say: Say) -> UndoRequest:
    """Check whether a run can be undone, and what that means. Raises UsageError; nothing is changed."""
    if (driver := find_driver(run)) is not None:
        raise UsageError(
            f"run {run.name} is running, in process {driver.pid}",
            remedy=f"Stop it first: bridle stop {run.name} && bridle undo {run.name}",
        )
    return await _look(run, environment, say, ended_at=await driver_ended_at(run))


async def perform(run: Path, environment: Mapping[str, str], say: Say) -> Undone:
    """Undo a run, alone in its working copy. Raises UsageError if a run is running there."""
    inputs, ended_at = read_inputs(FileStore(run)), await driver_ended_at(run)
    async with _alone(run, None if inputs.worktrees else Path(inputs.repository), say):
        for name in special_files.clear_git_folder(Path(inputs.repository)):
            say(f"removed {name}, a named pipe or a device, which blocks git")
        for folder in inputs.workspaces:
            for name in await stale_git_locks.clear(folder, among_snapshots=True):
                say(f"removed .git/{name}, which a killed git process had left")
            ignore_contents(folder, run.parent)
        request = await _look(run, environment, say, ended_at=ended_at)
        if request.plan.is_checked_out:  # a merge of an agent that was interrupted
            await git_leftovers.end_operations(request.context.git)
            await uncommitted_work.enter(request.context)
        async with gc_lock.hold(request.context.git):
            undone = await undo_run.undo_run(request.context, request.store, request.plan, ended_at=ended_at)
        progress_file.remove_run(Path(inputs.repository), run.name)
        return undone


async def _look(run: Path, environment: Mapping[str, str], say: Say, *, ended_at: float | None) -> UndoRequest:
    store = FileStore(run)
    inputs = read_inputs(store)
    then = f", and then run: bridle undo {run.name}"
    damaged_files.refuse(Path(inputs.repository), then=f"bridle undo {run.name}")
    context = run_context(
        Path(inputs.repository),
        environment=environment,
        settings=inputs.settings,
        plan=inputs.plan,
        base=inputs.base,
        came_from=inputs.came_from,
        run_folder=run,
        say=say,
    )
    expect_records(context, store)
    refuse_users(context, left_state.find(context, store), ended_at, then)
    plan = await undo_plan.make_plan(context, inputs)
    return UndoRequest(context, store, plan, undo_entries.read(store.state().notes))


@asynccontextmanager
async def _alone(run: Path, repository: Path | None, say: Say) -> AsyncIterator[None]:
    """Hold the lock of the run's driver, and of the working copy where the run works in it."""
    lock = await take_lock(run, say)
    try:
        async with nullcontext() if repository is None else hold_working_copy(repository, f"undo {run.name}"):
            yield
    finally:
        lock.release()

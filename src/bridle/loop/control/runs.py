"""A run of the loop, from its plan to its receipt: check, create, drive."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from enum import StrEnum
from functools import partial
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from bridle.engine.drive.drive_result import LIMIT, PAUSED, UNUSABLE, DriveResult
from bridle.engine.drive.driver import DriveOptions, Driver
from bridle.engine.drive.driver_lock import find_driver
from bridle.engine.drive.effects_in_progress import EffectsInProgress
from bridle.engine.drive.wait_for_driver import driver_ended_at
from bridle.engine.entries import refused_commands
from bridle.engine.hooks.run_hooks import Hooks
from bridle.engine.iterate.iteration_report import COMPLETED
from bridle.errors import DiskError, GitError, ProcessError
from bridle.ground.home import bridle_home
from bridle.ground.threads import in_thread, wait_uncancelled
from bridle.journal.format import layout
from bridle.journal.stores.file_store import FileStore
from bridle.loop import effects, user_messages
from bridle.loop.adoption import lost_commits, user_changes
from bridle.loop.control import current_state, receipt_cache, time_used
from bridle.loop.control.changed_agents import agent_in_force
from bridle.loop.control.changed_plan import known_plan
from bridle.loop.control.driver_time_file import read_driver_times, write_driver_time
from bridle.loop.control.pauses import deliver_user_messages, pending_pause
from bridle.loop.performers import shared_budget
from bridle.loop.performers.delivery import Delivery
from bridle.loop.performers.earlier_attempts import interrupted_work
from bridle.loop.performers.engine_adapter import performers
from bridle.loop.performers.evidence import expect_records
from bridle.loop.performers.working_copies import Worktrees
from bridle.loop.plan.model import Plan
from bridle.loop.process.receipt import Receipt
from bridle.loop.process.task_state import VERIFIED, Verdict
from bridle.loop.progress_events import Listener, unwatched
from bridle.loop.protection import baseline, programs_outside, uncommitted_changes
from bridle.loop.run_inputs import RunInputs, read_inputs
from bridle.loop.user_messages import UserMessageReader
from bridle.loop.working_copy import left_state, output_names, put_aside, stale_git_locks, uncommitted_work
from bridle.loop.working_copy.leave_branch import leave_empty_branch
from bridle.loop.working_copy.run_context import RunContext, run_context, with_direnv
from bridle.loop.working_copy.run_worktrees import in_worktree, is_complete, worker_context
from bridle.run.isolation.sandbox_rules import ChosenSandbox
from bridle.workspace import gc_lock, worktree
from bridle.workspace.git import Git
from bridle.workspace.git_folder import damaged_files, special_files
from bridle.workspace.snapshot import tree_of_all

# Recording a working copy takes a second or two; a driver that must stop does not wait longer for git.
LEAVE_SECONDS = 30.0

Say = Callable[[str], None]
OnReceipt = Callable[[Receipt], None]


class RunStatus(StrEnum):
    """Why a run stopped."""

    DONE = "done"
    FAILED = "failed"
    LIMIT_REACHED = "limit reached"
    NEEDS_YOU = "needs you"
    INTERRUPTED = "interrupted"
    AGENT_UNUSABLE = "agent unusable"
    BAD_PLAN = "bad plan"


# The status of a run that pauses.
_PAUSED = {
    effects.WHY_LIMIT: RunStatus.LIMIT_REACHED,
    effects.WHY_USAGE: RunStatus.LIMIT_REACHED,
    effects.WHY_BUDGET: RunStatus.LIMIT_REACHED,
    effects.WHY_UNUSABLE: RunStatus.AGENT_UNUSABLE,
    effects.WHY_PLAN: RunStatus.BAD_PLAN,
}


class RunEnd(Struct, frozen=True):
    """The receipt of a run that a driver has left, and why it did."""

    receipt: Receipt
    status: RunStatus
    reason: str = ""


async def drive_loop_run(
    run: Path,
    environment: Mapping[str, str],
    say: Say,
    *,
    with_hooks: bool = True,
    watch: Listener = unwatched,
    on_receipt: OnReceipt | None = None,
    sandbox: ChosenSandbox | None = None,
    record: Callable[[], None] | None = None,
    new_plan: Plan | None = None,
    may_iterate: Callable[[], bool] = lambda: True,
) -> RunEnd:
    """Drive a run until it ends, pauses or waits for the user; return its receipt.

    `record` writes the user's command to the journal, once nothing refuses this driver. `new_plan` is one that it
    records. `may_iterate` is asked before each iteration: without it, the run pauses once the running ones have ended.
    """
    store = FileStore(run)
    inputs = read_inputs(store)
    EffectsInProgress(run, os.environ).check(store.state())
    for name in special_files.clear_git_folder(Path(inputs.repository)):
        say(f"removed {name}, a named pipe or a device, which blocks git")
    hooks = Hooks(Path(inputs.repository), environment, enabled=with_hooks)
    context = run_context(
        Path(inputs.repository),
        environment=environment,
        settings=inputs.settings,
        plan=known_plan(store, inputs, new_plan),
        base=inputs.base,
        came_from=inputs.came_from,
        moved_from=await _follow(inputs, run, environment, say),
        run_folder=run,
        hooks=hooks,
        say=say,
        watch=watch,
        sandbox=None if sandbox is None else replace(sandbox, on_refused=partial(refused_commands.record, run)),
    )
    expect_records(context, store)
    context = await with_direnv(context)
    with suppress(GitError, ProcessError):  # the next git of the run reports it
        await programs_outside.find(context)
    for folder in inputs.workspaces:
        for name in await stale_git_locks.clear(folder, among_snapshots=True):
            say(f"removed .git/{name}, which a killed git process had left")
    await shared_budget.count_killed_agents(context.workspace, say)
    async with _between_drivers(store, context, has_new_plan=new_plan is not None) as delivery:
        context = replace(context, changes_adopted=user_changes.adopted(store))
        if record is not None and find_driver(run) is None:
            await wait_uncancelled(in_thread(record, name="recording the command"))
        context = replace(context, settings=agent_in_force(store, context.settings))
        while True:
            driven = await _drive_once(store, context, inputs, hooks, on_receipt, delivery, may_iterate)
            if isinstance(driven, RunEnd):
                return driven
            if not deliver_user_messages(store):
                _report_unread_hints(store, say)
                return await _end(store, driven)


def _report_unread_hints(store: FileStore, say: Say) -> None:
    """Print the hints of a completed run that arrived too late for its last iteration."""
    if store.position().end == COMPLETED:
        for hint in user_messages.unread_hints(store):
            say(f"no iteration has read your hint, write it into the plan of the next run: {hint}")


@asynccontextmanager
async def _between_drivers(store: FileStore, context: RunContext, *, has_new_plan: bool) -> AsyncIterator[Delivery]:
    """Adopt what the user changed since the last driver, and record at the end how this one leaves the working copy."""
    run = store.run
    is_prepared = any(effect.kind == effects.PREPARE for effect in store.state().resolved)
    if store.position().end is not None or find_driver(run) is not None:
        context = replace(context, changes_adopted=user_changes.adopted(store))
        if find_driver(run) is None and not context.settings.uses_worktrees:
            await uncommitted_changes.restore(context, has_ended=True)
            await _leave_uncommitted(context, store)
        yield Delivery()
        return
    delivery, copy = Delivery(), _own_copy(context)
    if copy is not None:
        await output_names.record(copy)
    if is_prepared and copy is not None:
        ended_at = await driver_ended_at(run)
        if not read_inputs(store).has_current_decisions:
            ended_at = None  # the lock of a driver of an earlier version does not say it
        receipt = await _replayed_receipt(store)
        async with gc_lock.hold(copy.git):
            delivery = await user_changes.adopt(copy, store, receipt, ended_at=ended_at, has_new_plan=has_new_plan)
    elif is_prepared:
        await lost_commits.refuse(context)
    try:
        yield delivery
    finally:
        context = replace(context, changes_adopted=user_changes.adopted(store))
        if (copy := _own_copy(context)) is not None:
            await wait_uncancelled(asyncio.ensure_future(_leave(copy, store)))


def _own_copy(context: RunContext) -> RunContext | None:
    """Return the context of the run's own working copy; None without a worktree."""
    if not context.settings.uses_worktrees:
        return context
    own = in_worktree(context)
    return own if is_complete(own.folder) else None


async def _leave(copy: RunContext, store: FileStore) -> None:
    """Record the working copies, and restore what the user had not committed.

    One that git cannot record counts as left by a killed driver.
    """
    for name in damaged_files.restore(copy.folder, looks_at_all=True):
        copy.say(f"restored .git/{name}, which git could not read any more")
    async with gc_lock.hold(copy.git):
        await _leave_all(copy, store)


async def _leave_all(copy: RunContext, store: FileStore) -> None:
    parallel = copy.settings.parallel
    workers = [worker_context(copy, worker) for worker in range(1, parallel + 1)] if parallel > 1 else []
    for each in (copy, *(worker for worker in workers if is_complete(worker.folder))):
        with suppress(GitError, DiskError, TimeoutError):
            if store.position().end is None:
                async with asyncio.timeout(LEAVE_SECONDS):
                    await left_state.record(each, store)
    with suppress(GitError, DiskError):
        has_work = copy.repository is not None or await _has_work(copy)
        await uncommitted_changes.restore(copy)
        aside = put_aside.find(copy.run_folder)
        if not has_work and (aside is None or aside.is_restored):
            await leave_empty_branch(copy)
        await _leave_uncommitted(copy, store)


async def _leave_uncommitted(copy: RunContext, store: FileStore) -> None:
    """Leave the work uncommitted in the user's files, where the user wants that and every task is decided."""
    if copy.settings.commit or copy.settings.uses_worktrees:
        return
    paused = pending_pause(store)
    is_decided = store.position().end is not None or (paused is not None and paused.why == effects.WHY_ENDED)
    if is_decided and not await _has_unfinished_work(copy, await copy.git.head()):
        await uncommitted_work.leave(copy)


async def _has_work(copy: RunContext) -> bool:
    """Return whether the run has made a commit, or left work in the files."""
    return await copy.git.head() != copy.base or await _has_unfinished_work(copy, copy.base)


async def _has_unfinished_work(copy: RunContext, commit: str | None) -> bool:
    """Return whether the files have work that is not in this commit."""
    if commit is None or left_state.unfinished_operations(copy.folder):
        return True
    work = await baseline.work_in(copy, await tree_of_all(copy.git, as_committed=True))
    return work != await copy.git.tree_of(commit)


async def _follow(inputs: RunInputs, run: Path, environment: Mapping[str, str], say: Say) -> tuple[str, str] | None:
    """Continue in the repository with the run's folder, if it was moved or copied; return its old and new path."""
    old, new = inputs.recorded_repository, inputs.repository
    if old is None:
        return None
    is_copy = os.path.lexists(Path(old, layout.RUNS_FOLDER, run.name))
    say(f"{new} {'is a copy of' if is_copy else 'was'} {old}, where this run began; it continues in {new}")
    for folder in inputs.worktrees:
        await worktree.relink(Git(Path(new), environment), Path(folder))
    return old, new


async def _drive_once(
    store: FileStore,
    context: RunContext,
    inputs: RunInputs,
    hooks: Hooks,
    on_receipt: OnReceipt | None,
    delivery: Delivery,
    may_iterate: Callable[[], bool],
) -> DriveResult | RunEnd:
    """Drive until the run ends, pauses or waits; or end at once where a limit is already reached."""
    run, settings = store.run, context.settings
    kept = FileStore(run, reuses_view=True)
    messages = UserMessageReader(kept)
    shared_budget.name_limits(context, messages)
    interrupted = interrupted_work(store, inputs.workspaces, read_driver_times(run))
    receipt = await _replayed_receipt(store) if store.state().effects else Receipt()
    receipt = current_state.complete_receipt(receipt, store, interrupted)
    left_seconds = receipt.limits.max_seconds - receipt.seconds
    limit = time_used.limit_reached(receipt, interrupted, store)
    if limit is not None and find_driver(run) is None:  # else the lock's error names the driver that runs already
        return RunEnd(receipt, RunStatus.LIMIT_REACHED, limit)
    options = DriveOptions(
        breakpoints=settings.breakpoints,
        concurrency=settings.parallel,
        limit_seconds=max(0.0, left_seconds),
        quiet=frozenset(effects.PERFORMED),
        holds=lambda kind: kind == effects.WORK and not may_iterate(),
    )
    copies = Worktrees(context, has_worktree=settings.uses_worktrees)
    earlier = time_used.earlier_drivers(store.state(), interrupted, read_driver_times(run))

    def show(receipt: Receipt, on_receipt: OnReceipt) -> None:
        """Show a receipt with what earlier drivers used, and the limits in force."""
        receipt = current_state.with_interrupted(receipt, interrupted.only(kept.position().pending))
        limits = messages.limits_in_force(settings.limits)
        seconds = time_used.seconds_used(receipt, earlier)
        on_receipt(msgspec.structs.replace(receipt, limits=limits, seconds=round(seconds, 3)))

    with time_used.counted(store, earlier) as time:
        driver = Driver(
            lambda: FileStore(run, reuses_view=True),
            run,
            hooks,
            options,
            environment=context.environment,
            say=context.say,
            performers=performers(messages, copies, time, delivery),
            on_process_state=None if on_receipt is None else partial(show, on_receipt=on_receipt),
        )
        async with write_driver_time(run, time):
            return await driver.drive()


async def _replayed_receipt(store: FileStore) -> Receipt:
    return await wait_uncancelled(in_thread(lambda: current_state.replay_receipt(store), name="replaying the run"))


async def _end(store: FileStore, driven: DriveResult) -> RunEnd:
    _cache_receipt(store, driven)
    receipt = driven.process_state or await _replayed_receipt(store)
    receipt = current_state.complete_receipt(receipt, store)
    paused = pending_pause(store)
    if paused is not None:
        is_unbegun = paused.why == effects.WHY_SETUP and not receipt.iterations
        status = RunStatus.BAD_PLAN if is_unbegun else _PAUSED.get(paused.why, RunStatus.FAILED)
        return RunEnd(receipt, status, paused.reason)
    if driven.status == PAUSED:
        return RunEnd(receipt, RunStatus.INTERRUPTED, "paused after the iteration; nothing is lost")
    if driven.status == LIMIT:
        return RunEnd(receipt, RunStatus.LIMIT_REACHED, time_used.TIME_IS_OVER)
    if driven.status == UNUSABLE:
        return RunEnd(receipt, RunStatus.AGENT_UNUSABLE, str(driven.error or ""))
    return RunEnd(receipt, final_status(receipt))


def _cache_receipt(store: FileStore, driven: DriveResult) -> None:
    """Keep the receipt for `bridle status`, unless an effect that the process waited for has a result by now."""
    state = store.state()
    pending = {effect.effect_id for effect in state.pending}
    if driven.process_state is not None and all(
        action.effect.effect_id in pending for action in driven.iteration.actions
    ):
        receipt_cache.write(store.run, state, driven.process_state, bridle_home(os.environ))


def final_status(receipt: Receipt) -> RunStatus:
    """Return the status of a run that neither pauses nor reached a limit."""
    verdicts = {task.verdict for task in receipt.tasks}
    if Verdict.NEEDS_YOU in verdicts:
        return RunStatus.NEEDS_YOU
    return RunStatus.DONE if verdicts <= VERIFIED else RunStatus.FAILED

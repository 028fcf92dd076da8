"""The receipt of a run as it is now, from its journal alone: its process is executed on what was recorded.

No effect is requested and nothing is written. Results are delivered in the order in which they were recorded, as in
every replay; the process stops at the first effects that have none.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from bridle.engine.entries import effect_attempts
from bridle.ground import clock, ids
from bridle.ground.home import bridle_home
from bridle.journal.format.entries import Effect
from bridle.journal.format.refusals import describe_refusals
from bridle.journal.format.state import State
from bridle.journal.stores.chain_file import newest_head
from bridle.journal.stores.file_store import FileStore
from bridle.loop.control import pauses, pending_waits, receipt_cache, time_used
from bridle.loop.control.driver_time_file import read_driver_times
from bridle.loop.effects import WORK, WorkArgs
from bridle.loop.performers.earlier_attempts import InterruptedWork, interrupted_work
from bridle.loop.process.receipt import JournalHead, Receipt, TaskReceipt
from bridle.loop.process.task_state import Usage
from bridle.loop.run_inputs import PROCESS_ID, RunPlace, move_path, read_inputs, read_place
from bridle.loop.user_messages import UserMessageReader
from bridle.wire.mask import Mask, secret_values

if TYPE_CHECKING:
    from bridle.run.read_log import LoggedRun

R = TypeVar("R", Receipt, TaskReceipt)


def read_receipt(run: str | os.PathLike[str]) -> Receipt:
    """Return the receipt of a run as it is now. Must not be called while an event loop runs in this thread."""
    store = FileStore(Path(run))
    return complete_receipt(replay_receipt(store), store)


def read_cached_receipt(
    run: Path,
    environment: Mapping[str, str],
    *,
    has_driver: bool = False,
    read: Callable[[Path], LoggedRun] | None = None,
) -> Receipt:
    """Return the same receipt for display: without a replay where one of this very journal is cached.

    `read` reads the log of a running agent, as `read_log` does.
    """
    store, home = FileStore(run, reuses_view=True), bridle_home(environment)
    state = store.state()
    receipt = receipt_cache.read(store, state, home)
    if receipt is None:
        receipt = replay_receipt(store, state)
        receipt_cache.write(run, state, receipt, home)
    place = read_place(store)
    interrupted = interrupted_work(store, place.workspaces, read_driver_times(store.run), read)
    receipt = complete_receipt(receipt, store, interrupted, has_driver=has_driver)
    if not has_driver:
        return receipt
    from bridle.loop.control.running_effects import running_effects  # late: only a running run needs it

    mask = Mask(secret_values(environment))
    return msgspec.structs.replace(receipt, now=running_effects(store, interrupted, mask))


def complete_receipt(
    receipt: Receipt, store: FileStore, interrupted: InterruptedWork | None = None, *, has_driver: bool = False
) -> Receipt:
    """Return a receipt with what its process does not know; with a driver, what its agents spend is not wasted.

    That is what iterations without a result have used, the limits in force, ids of questions, and what the run waits
    for.
    """
    place, state, paused = read_place(store), store.state(), pauses.pending_pause(store)
    driver_times = read_driver_times(store.run)
    interrupted = interrupted or interrupted_work(store, place.workspaces, driver_times)
    seconds = time_used.seconds_used(receipt, time_used.earlier_drivers(state, interrupted, driver_times))
    if not has_driver:
        receipt = _without_unstarted(receipt, store, state)
    receipt = msgspec.structs.replace(
        with_effect_ids(with_interrupted(receipt, interrupted, has_driver=has_driver), state.pending),
        seconds=round(seconds, 3),
        limits=UserMessageReader(store).limits_in_force(place.limits),
        waiting=pending_waits.current(store),
        refused=tuple(describe_refusals(state.notes)),
        journal=_journal_head(store.run),
    )
    if place.recorded_repository is not None:
        receipt = _moved(receipt, place)
    stopped = time_used.limit_reached(receipt, interrupted, store) if paused is None else paused.reason
    return msgspec.structs.replace(receipt, stopped=stopped)


def _without_unstarted(receipt: Receipt, store: FileStore, state: State) -> Receipt:
    """Return a receipt that does not count iterations that no driver has started: the user paused the run before."""
    attempts = effect_attempts.read(state)
    effects = [one for one in state.pending if one.kind == WORK and one.effect_id not in attempts]
    titles = [WorkArgs.from_json(store.task(effect).inputs).task for effect in effects]
    tasks = tuple(
        msgspec.structs.replace(task, iterations=task.iterations - titles.count(task.title)) for task in receipt.tasks
    )
    return msgspec.structs.replace(receipt, tasks=tasks, iterations=receipt.iterations - len(titles))


def _journal_head(run: Path) -> JournalHead | None:
    newest = newest_head(run)
    return None if newest is None else JournalHead(sequence=newest[0], head=f"sha256:{newest[1]}")


def _moved(receipt: Receipt, place: RunPlace) -> Receipt:
    """Return a receipt whose paths and commands are those of a repository that was moved or copied."""
    worktree, old = receipt.worktree, str(place.recorded_repository)
    return msgspec.structs.replace(
        receipt, worktree=None if worktree is None else move_path(worktree, old, place.repository)
    )


def with_interrupted(receipt: Receipt, interrupted: InterruptedWork, *, has_driver: bool = False) -> Receipt:
    """Add what iterations without a result have used; all of it is wasted so far, except by agents that run."""
    if not interrupted.effects:
        return receipt
    wasted = interrupted.without_running() if has_driver else interrupted
    tasks = tuple(
        _with_task_usage(task, interrupted.usage_of(task.title), wasted.usage_of(task.title)) for task in receipt.tasks
    )
    return _plus(msgspec.structs.replace(receipt, tasks=tasks), interrupted.usage, wasted.usage)


def _with_task_usage(task: TaskReceipt, usage: Usage, wasted: Usage) -> TaskReceipt:
    return msgspec.structs.replace(_plus(task, usage, wasted), seconds=round(task.seconds + usage.seconds, 3))


def _plus(receipt: R, usage: Usage, wasted: Usage) -> R:
    """Add costs and tokens."""
    cost = usage.total_cost_usd
    return msgspec.structs.replace(
        receipt,
        cost_usd=_sum(receipt.cost_usd, cost),
        known_cost_usd=round(receipt.known_cost_usd + usage.cost_usd, 6),
        wasted_usd=_sum(receipt.wasted_usd, wasted.total_cost_usd),
        input_tokens=receipt.input_tokens + usage.input_tokens,
        output_tokens=receipt.output_tokens + usage.output_tokens,
    )


def _sum(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else round(one + other, 6)


def with_effect_ids(receipt: Receipt, pending: Iterable[Effect]) -> Receipt:
    """Return a receipt with the ids by which its questions are answered."""
    by_label = {effect.label: effect.effect_id for effect in pending}
    tasks = tuple(
        msgspec.structs.replace(task, effect=by_label.get(f"needs-you: {task.title}")) if task.question else task
        for task in receipt.tasks
    )
    return msgspec.structs.replace(receipt, tasks=tasks)


def replay_receipt(store: FileStore, state: State | None = None) -> Receipt:
    """Return the receipt as the process knows it, now or in an earlier state of the journal.

    Must not be called while an event loop runs in this thread.
    """
    from bridle.engine.process.load_process import load_built_in  # late: `bridle status` rarely replays
    from bridle.engine.replay.answers import Run
    from bridle.engine.replay.replay import Replay

    inputs, state = read_inputs(store), store.state() if state is None else state
    run = Run(inputs.run, PROCESS_ID, "", store.inputs(state.created))
    # The clock stops where the journal ends.
    now = clock.now() if state.last is None else datetime.fromisoformat(state.last.recorded_at)
    replay = Replay(load_built_in(PROCESS_ID), run, now=lambda: now)
    try:
        replay.catch_up(store, ids, state)
        if replay.error is not None:
            raise replay.error
        receipt: Receipt = replay.process_state
        return receipt
    finally:
        replay.cancel()

"""What an iteration used besides its last agent: agents that died and were retried, and agents of ended drivers.

It is read from their logs, so that every cost is counted once, whatever was killed and whenever.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from bridle.ground import ids
from bridle.journal.format.entries import Effect
from bridle.journal.stores.store import Store
from bridle.loop import effects
from bridle.loop.process.task_state import Usage
from bridle.run.logs_of_purpose import Purpose, logs_of
from bridle.run.request import Mode, Request

if TYPE_CHECKING:
    from bridle.run.read_log import LoggedRun

SUMMARY_TASK = "summarize"
"""The name of summaries in their logs."""


class InterruptedEffect(Struct, frozen=True):
    """What the agents of one effect without a result have used so far."""

    task: str | None
    """Its title; None: for no single task."""
    usage: Usage = field(default_factory=Usage)
    ended: Usage = field(default_factory=Usage)
    """Without the last agent if its end was not seen: it runs while its driver does."""
    log: Path | None = None
    """The log of the last agent."""


class InterruptedWork(Struct, frozen=True):
    """What the agents of all effects without a result have used so far."""

    effects: dict[str, InterruptedEffect] = field(default_factory=dict)
    """By the effect's id."""
    drivers: dict[str, float] = field(default_factory=dict)
    """How long their drivers ran at least, by id."""

    def only(self, pending: Container[str]) -> InterruptedWork:
        """Return the work of these effects."""
        kept = {effect_id: effect for effect_id, effect in self.effects.items() if effect_id in pending}
        return InterruptedWork(kept, self.drivers)

    @property
    def usage(self) -> Usage:
        """The whole of it."""
        whole = Usage()
        for effect in self.effects.values():
            whole.add(effect.usage)
        return whole

    def without_running(self) -> InterruptedWork:
        """Return the work without the agents that run while a driver does."""
        ended = {key: InterruptedEffect(effect.task, effect.ended) for key, effect in self.effects.items()}
        return InterruptedWork(ended, self.drivers)

    def usage_of(self, task: str) -> Usage:
        """Return the part of one task."""
        return InterruptedWork({key: effect for key, effect in self.effects.items() if effect.task == task}).usage


def interrupted_work(
    store: Store,
    workspaces: Sequence[Path],
    driver_times: Mapping[str, float],
    read: Callable[[Path], LoggedRun] | None = None,
) -> InterruptedWork:
    """Return what the agents of started effects without a result have used, from their logs.

    `driver_times` is what drivers wrote into their file; `read` reads a log, as `read_log` does.
    Without it, a run that is killed again and again during an iteration would never reach a limit.
    """
    interrupted = InterruptedWork()
    for effect in store.state().pending:
        title, purpose = _purpose(store, effect)
        logs = [] if purpose is None else list(logs_of(purpose, workspaces, read=read))
        for log in logs:
            known = interrupted.effects.setdefault(effect.effect_id, InterruptedEffect(title, log=logs[-1].path))
            usage = _usage(log, driver_times)
            known.usage.add(usage)
            if log is not logs[-1] or not log.meta.is_lost:
                known.ended.add(usage)
            if log.meta.driver is not None:  # earlier versions logged none
                seconds = log.meta.driver_seconds + log.meta.seconds
                interrupted.drivers[log.meta.driver] = max(interrupted.drivers.get(log.meta.driver, 0.0), seconds)
    return interrupted


def spent_before(request: Request, log: Path | None, driver_times: Mapping[str, float]) -> Usage:
    """Return what earlier agents of this effect used, without the one of this log.

    `driver_times` are the seconds of earlier drivers.
    The time of those that the same driver started is part of the last one's.
    """
    spent = Usage()
    purpose = Purpose(request.purpose, request.mode, request.task)
    for earlier in logs_of(purpose, (request.workspace,), but={log}):
        usage = _usage(earlier, driver_times)
        if earlier.meta.driver == request.driver:
            usage.seconds = 0.0
        spent.add(usage)
    return spent


def _purpose(store: Store, effect: Effect) -> tuple[str | None, Purpose | None]:
    """Return the task and the logs of an effect that starts agents."""
    run = store.metadata().run_id
    if effect.kind == effects.WORK:
        work = effects.WorkArgs.from_json(store.task(effect).inputs)
        return work.task, Purpose(effects.work_purpose(run, work), Mode.CODER, log_task(work.task))
    if effect.kind == effects.SUMMARIZE:
        summary = effects.SummarizeArgs.from_json(store.task(effect).inputs)
        return None, Purpose(effects.summary_purpose(run, summary), Mode.SUMMARIZER, SUMMARY_TASK)
    return None, None


def log_task(title: str) -> str:
    """Return the name of a task in the names of its logs."""
    return ids.safe_name(title, limit=40)


def _usage(log: LoggedRun, driver_times: Mapping[str, float]) -> Usage:
    """Return what an agent used; one whose end was not seen ran as long as its driver."""
    meta, tokens = log.meta, log.record.tokens
    seconds = meta.seconds
    if meta.is_lost and meta.driver is not None:
        seconds = max(seconds, driver_times.get(meta.driver, 0.0) - meta.driver_seconds)
    return Usage(
        cost_usd=log.cost.known_usd,
        unknown_costs=int(log.cost.usd is None),
        input_tokens=tokens.input_tokens,
        output_tokens=tokens.output_tokens,
        seconds=round(seconds, 3),
    )

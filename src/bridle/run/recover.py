"""After a run that Bridle did not survive: its log is folded, its cost counted, its session remembered."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bridle.errors import DiskError, UserError
from bridle.ground import clock, ids
from bridle.run import budget as budgets
from bridle.run import sessions
from bridle.run.budget import Budget, Cost
from bridle.run.command import CLAUDE_LIKE
from bridle.run.log_meta import LOG_SUFFIX, LogMeta, mark_lost, read_meta
from bridle.run.logs import FOLDER
from bridle.run.request import Mode
from bridle.wire.dialects.dialect_table import DEFAULT_AGENT, decoder_for
from bridle.wire.record.record import Record
from bridle.wire.record.recorder import Recorder

_READ_BYTES = 256 * 1024  # large enough that reading costs nothing beside decoding


@dataclass(frozen=True, slots=True)
class LoggedRun:
    """What the log of a run holds, whether or not its Bridle was killed."""

    meta: LogMeta
    record: Record
    cost: Cost


def read_log(log: Path) -> LoggedRun:
    """Read a log and the file beside it. A damaged file beside it is left alone: the log counts without it."""
    try:
        meta = read_meta(log)
    except DiskError:
        meta = LogMeta(is_ended=True)
    agent = meta.agent or DEFAULT_AGENT
    record = _fold(log, agent)
    return LoggedRun(meta, record, budgets.cost_of(record, agent))


def work_of(log_name: str, budget: Budget) -> str:
    """What a run writes into its lock: the log it is at, and how many runs had been counted before it."""
    return f"{budget.iterations} {log_name}"


def settle(workspace: Path, work: str, budget: Budget) -> tuple[Budget, Cost, Path] | None:
    """Count the run that left this work, and close its description; None where there is nothing to count.

    That is so where no log of ours has this name, the agent had not printed anything, or the run was killed
    after it had been counted: then the budget has gone on since.
    """
    counted, _, name = work.partition(" ")
    log = _log_of(workspace, name)
    if log is None or not counted.isdecimal():
        return None
    run = read_log(log)
    meta, record = run.meta, run.record
    if not meta.is_ended:
        mark_lost(log)
    if not record.events or budget.iterations > int(counted):
        return None
    if record.session_id is not None and (meta.agent or DEFAULT_AGENT) in CLAUDE_LIKE and meta.mode in list(Mode):
        sessions.remember(workspace, Mode(meta.mode), record.session_id, clock.now())
    return budgets.spend(workspace, budget, run.cost), run.cost, log


def _log_of(workspace: Path, work: str) -> Path | None:
    """The log of that name. The name comes from a file that anybody may have written."""
    try:
        name = ids.check_id(work, what="name of a log")
    except UserError:
        return None
    log = workspace / FOLDER / name
    return log if name.endswith(LOG_SUFFIX) and log.is_file() and not log.is_symlink() else None


def _fold(log: Path, agent: str) -> Record:
    try:
        decoder = decoder_for(agent)
    except UserError:
        decoder = decoder_for(DEFAULT_AGENT)
    recorder = Recorder()
    with log.open("rb") as stream:
        while chunk := stream.read(_READ_BYTES):
            recorder.add_all(decoder.feed(chunk))
    recorder.add_all(decoder.end())
    return recorder.record

"""Recover a run whose Bridle was killed: read its log, add its cost to the budget, remember its session."""

from __future__ import annotations

from pathlib import Path

from bridle.errors import UserError
from bridle.ground import clock, ids
from bridle.run import budget as budgets
from bridle.run import sessions
from bridle.run.budget import Budget, Cost
from bridle.run.command import CLAUDE_LIKE
from bridle.run.log_meta import LOG_SUFFIX, mark_lost
from bridle.run.logs import FOLDER
from bridle.run.read_log import read_log
from bridle.run.request import Mode
from bridle.wire.dialects.dialect_table import DEFAULT_AGENT
from bridle.wire.record.outcome import session_to_resume


def lock_note(log_name: str, budget: Budget) -> str:
    """Return the note that a run writes into its lock: its log, and the number of runs counted before it."""
    return f"{budget.iterations} {log_name}"


def recover_killed_run(workspace: Path, note: str, budget: Budget) -> tuple[Budget, Cost, Path] | None:
    """Count the run that left this note in the lock, and finish its log; None where there is nothing to count.

    That is the case where there is no such log, no agent was started, or the run was killed after it had been counted:
    then the budget has more runs than the note says.
    """
    counted, _, name = note.partition(" ")
    log = _find_log(workspace, name)
    if log is None or not counted.isdecimal():
        return None
    run = read_log(log)
    meta, record = run.meta, run.record
    if not meta.is_ended:
        mark_lost(log)
    was_started = record.events or meta.pid is not None  # written just before the start
    if not was_started or budget.iterations > int(counted):
        return None
    session = session_to_resume(record, meta.ending_of(record))
    if session is not None and (meta.agent or DEFAULT_AGENT) in CLAUDE_LIKE and meta.mode in list(Mode):
        sessions.remember(workspace, Mode(meta.mode), session, clock.now())
    return budgets.spend(workspace, budget, run.cost), run.cost, log


def _find_log(workspace: Path, note: str) -> Path | None:
    """Return the log of that name. The name is checked: an agent can write the lock file."""
    try:
        name = ids.check_id(note, what="log name")
    except UserError:
        return None
    log = workspace / FOLDER / name
    return log if name.endswith(LOG_SUFFIX) and log.is_file() and not log.is_symlink() else None

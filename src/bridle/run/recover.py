"""After a run that Bridle did not survive: its log is folded, its cost counted, its session remembered."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bridle.errors import DiskError, UserError
from bridle.ground import clock, disk, ids
from bridle.run import budget as budgets
from bridle.run import sessions
from bridle.run.budget import Budget, Cost
from bridle.run.command import CLAUDE_LIKE
from bridle.run.logs import FOLDER, LOG_SUFFIX, META_SUFFIX
from bridle.run.request import Mode
from bridle.wire.dialects.dialect_table import decoder_for
from bridle.wire.record.record import Record
from bridle.wire.record.recorder import Recorder

_READ_BYTES = 256 * 1024  # large enough that reading costs nothing beside decoding


@dataclass(frozen=True, slots=True)
class Told:
    """What the files of one run tell, whether or not its Bridle survived it."""

    meta: dict[str, Any]
    record: Record
    cost: Cost


def told(log: Path) -> Told:
    """Read what is left of a run."""
    meta = _read_meta(_meta_path(log))
    agent = _agent_of(meta)
    record = _fold(log, agent)
    return Told(meta, record, budgets.cost_of(record, agent))


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
    meta_path, found = _meta_path(log), told(log)
    meta, record, agent = found.meta, found.record, _agent_of(found.meta)
    if "ended" not in meta:
        disk.write_json_atomic(meta_path, {**meta, "ended": clock.iso(clock.now()), "exit_code": None, "lost": True})
    if not record.events or budget.iterations > int(counted):
        return None
    if record.session_id is not None and agent in CLAUDE_LIKE and meta.get("mode") in list(Mode):
        sessions.remember(workspace, Mode(meta["mode"]), record.session_id, clock.now())
    return budgets.spend(workspace, budget, found.cost), found.cost, log


def _log_of(workspace: Path, work: str) -> Path | None:
    """The log of that name. The name comes from a file that anybody may have written."""
    try:
        name = ids.check_id(work, what="name of a log")
    except UserError:
        return None
    log = workspace / FOLDER / name
    return log if name.endswith(LOG_SUFFIX) and log.is_file() and not log.is_symlink() else None


def _meta_path(log: Path) -> Path:
    return log.with_name(log.name.removesuffix(LOG_SUFFIX) + META_SUFFIX)


def _agent_of(meta: dict[str, Any]) -> str:
    agent = meta.get("agent")
    return agent if isinstance(agent, str) else "claude"


def _read_meta(path: Path) -> dict[str, Any]:
    """What was written down when the run began. A damaged file is left alone: the log counts all the same."""
    try:
        meta = disk.read_json(path)
    except DiskError:
        return {"ended": None}
    return meta if isinstance(meta, dict) else {}


def _fold(log: Path, agent: str) -> Record:
    try:
        decoder = decoder_for(agent)
    except UserError:
        decoder = decoder_for("claude")
    recorder = Recorder()
    with log.open("rb") as stream:
        while chunk := stream.read(_READ_BYTES):
            recorder.add_all(decoder.feed(chunk))
    recorder.add_all(decoder.end())
    return recorder.record

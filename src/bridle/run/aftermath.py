"""After a run that Bridle did not survive: its log is folded, its cost counted, its session remembered."""

from __future__ import annotations

from pathlib import Path

from bridle.errors import UserError
from bridle.ground import clock, disk, ids
from bridle.run import budget as budgets
from bridle.run import sessions
from bridle.run.budget import Budget, Cost
from bridle.run.command import CLAUDE_LIKE
from bridle.run.logs import FOLDER, LOG_SUFFIX, META_SUFFIX
from bridle.run.request import Mode
from bridle.wire.dialects.table import decoder_for
from bridle.wire.record import Record
from bridle.wire.recorder import Recorder

_READ_BYTES = 256 * 1024  # large enough that reading costs nothing beside decoding


def settle(workspace: Path, work: str, budget: Budget) -> tuple[Budget, Cost] | None:
    """Count the run whose log has this name, and close its description; None where there is no such log."""
    log = _log_of(workspace, work)
    if log is None:
        return None
    meta_path = log.with_name(log.name.removesuffix(LOG_SUFFIX) + META_SUFFIX)
    meta = disk.read_json(meta_path)
    meta = meta if isinstance(meta, dict) else {}
    agent = meta.get("agent")
    agent = agent if isinstance(agent, str) else "claude"
    record = _fold(log, agent)
    if record.session_id is not None and agent in CLAUDE_LIKE and meta.get("mode") in list(Mode):
        sessions.remember(workspace, Mode(meta["mode"]), record.session_id, clock.now())
    cost = budgets.cost_of(record, agent)
    spent = budgets.spend(workspace, budget, cost)
    if "ended" not in meta:
        disk.write_json_atomic(meta_path, {**meta, "ended": clock.iso(clock.now()), "exit_code": None, "lost": True})
    return spent, cost


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
        decoder = decoder_for("claude")
    recorder = Recorder()
    with log.open("rb") as stream:
        while chunk := stream.read(_READ_BYTES):
            recorder.add_all(decoder.feed(chunk))
    recorder.add_all(decoder.end())
    return recorder.record

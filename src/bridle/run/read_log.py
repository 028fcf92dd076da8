"""Read the log of an agent run, whether or not its Bridle was killed. `bridle status` imports this."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from bridle.errors import DiskError, UserError
from bridle.run import budget as budgets
from bridle.run.budget import Cost
from bridle.run.log_meta import LogMeta, read_meta
from bridle.wire.dialects.dialect_table import DEFAULT_AGENT, decoder_for
from bridle.wire.record.record import Record
from bridle.wire.record.recorder import Recorder

_READ_BYTES = 256 * 1024  # so large that reading is cheap beside decoding


class LoggedRun(Struct, frozen=True):
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
    return LoggedRun(meta, record, budgets.cost_so_far(record, agent, model=meta.model))


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

"""Read the log of an agent run, whether or not its Bridle was killed. `bridle status` imports this."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from bridle.errors import DiskError, UserError
from bridle.run import budget as budgets
from bridle.run.budget import Cost
from bridle.run.log_meta import LogMeta, read_meta
from bridle.wire.dialects.dialect_table import DEFAULT_AGENT, StreamDecoder, decoder_for
from bridle.wire.record.record import Record
from bridle.wire.record.recorder import Recorder

# The logs of which a reader remembers the beginning; a run has one agent, or one for each worker.
_KNOWN_LOGS = 64
if TYPE_CHECKING:
    from bridle.wire.record.outcome import Outcome

_READ_BYTES = 256 * 1024  # so large that reading is cheap beside decoding


class LoggedRun(Struct, frozen=True):
    """What the log of a run holds, whether or not its Bridle was killed."""

    meta: LogMeta
    record: Record
    cost: Cost
    path: Path

    @property
    def outcome(self) -> Outcome:
        """The verdict on the run, as `bridle inspect` prints it."""
        from bridle.wire.record.outcome import judge  # late: `bridle status` needs no verdict

        return judge(self.record, self.meta.ending_of(self.record), self.meta.rules)


def read_log(log: str | os.PathLike[str]) -> LoggedRun:
    """Read a log and the file beside it. A damaged file beside it is left alone: the log counts without it."""
    log = Path(log)
    meta = _meta_of(log)
    return _logged_run(log, meta, _fold(log, meta.agent or DEFAULT_AGENT))


class LogReader:
    """Reads logs that grow, as `read_log` does, but of each only what is new."""

    def __init__(self) -> None:
        self._known: dict[Path, _Unfinished] = {}

    def __call__(self, log: Path) -> LoggedRun:
        meta = _meta_of(log)
        known = self._known.pop(log, None) or _Unfinished(_decoder_of(meta.agent or DEFAULT_AGENT))
        with log.open("rb") as stream:
            if os.fstat(stream.fileno()).st_size < known.position:  # another file
                known = _Unfinished(_decoder_of(meta.agent or DEFAULT_AGENT))
            stream.seek(known.position)
            while chunk := stream.read(_READ_BYTES):
                known.recorder.add_all(known.decoder.feed(chunk))
                known.position += len(chunk)
        self._known[log] = known
        while len(self._known) > _KNOWN_LOGS:
            del self._known[next(iter(self._known))]
        return _logged_run(log, meta, known.recorder.record)


class _Unfinished(Struct):
    """A log of which a part was read."""

    decoder: StreamDecoder
    recorder: Recorder = field(default_factory=Recorder)
    position: int = 0


def _meta_of(log: Path) -> LogMeta:
    try:
        return read_meta(log)
    except DiskError:
        return LogMeta(is_ended=True)


def _logged_run(log: Path, meta: LogMeta, record: Record) -> LoggedRun:
    cost = budgets.cost_so_far(record, meta.agent or DEFAULT_AGENT, model=meta.model)
    return LoggedRun(meta, record, cost, log)


def _decoder_of(agent: str) -> StreamDecoder:
    try:
        return decoder_for(agent)
    except UserError:
        return decoder_for(DEFAULT_AGENT)


def _fold(log: Path, agent: str) -> Record:
    decoder, recorder = _decoder_of(agent), Recorder()
    with log.open("rb") as stream:
        while chunk := stream.read(_READ_BYTES):
            recorder.add_all(decoder.feed(chunk))
    recorder.add_all(decoder.end())
    return recorder.record

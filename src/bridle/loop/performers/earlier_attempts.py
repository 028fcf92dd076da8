"""What an iteration used besides its last agent: agents that died and were tried again, or that Bridle did not survive.

Their logs tell. Whatever was killed, and whenever: what was paid for is counted, and counted once.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from bridle.errors import DiskError
from bridle.ground import clock
from bridle.journal.stores.store import Store
from bridle.loop import effects
from bridle.loop.process.task_state import Usage
from bridle.run.log_meta import LOG_SUFFIX
from bridle.run.logs import FOLDER
from bridle.run.recover import LoggedRun, read_log
from bridle.run.request import Request
from bridle.wire.record.record import Tally


@dataclass(frozen=True)
class InterruptedWork:
    """What agents did whose iteration nobody has lived to note."""

    cost_usd: float = 0.0
    at_work: list[tuple[datetime, datetime]] = field(default_factory=list)
    """From when each of them worked, to its last sign of life."""


def cut_off(store: Store, workspaces: Sequence[Path]) -> InterruptedWork:
    """The agents of iterations that were begun and have no result, by their logs.

    Who is killed again and again in the midst of one would otherwise never come to a limit.
    """
    cost, at_work = 0.0, []
    for effect in store.state().pending:
        inputs = store.task(effect.effect_id).get("inputs") if effect.kind == effects.WORK else None
        if not isinstance(inputs, dict):
            continue
        purpose = effects.work_purpose(str(store.metadata().get("runId")), inputs)
        since = clock.stamp(datetime.fromisoformat(effect.request.recorded_at))
        for log in (log for workspace in workspaces for log in _logs(workspace / FOLDER, since)):
            span, found = _at_work(log), _told(log)
            if span is not None and found is not None and found.meta.purpose == purpose:
                cost += found.cost.usd or 0.0
                at_work.append(span)
    return InterruptedWork(cost, sorted(at_work))


def _at_work(log: Path) -> tuple[datetime, datetime] | None:
    """From the moment in its name to the last that was written to it; None for a file that is no log of ours.

    A log that was copied, or that an agent has touched, may say more: nobody was at work later than now.
    """
    try:
        began = datetime.strptime(f"{log.name.partition('Z')[0]}+0000", "%Y%m%dT%H%M%S.%f%z")
        return began, min(clock.now(), datetime.fromtimestamp(log.stat().st_mtime, UTC))
    except (ValueError, OSError):
        return None


def spent_before(asked: Request, log: Path | None, asked_at: str | None) -> Usage:
    """What agents of this request used since it was first asked for, but for the one of this log."""
    spent = Usage()
    if log is None or asked_at is None:
        return spent
    for one in _logs(log.parent, clock.stamp(datetime.fromisoformat(asked_at))):
        found = _told(one) if one != log else None
        if found is not None and found.meta.purpose == asked.purpose:
            tokens = found.record.usage if found.record.usage != Tally() else found.record.usage_estimate or Tally()
            spent.join(Usage(found.cost.usd or 0.0, tokens.input_tokens, tokens.output_tokens))
    return spent


def _logs(folder: Path, since: str) -> list[Path]:
    """Their names begin with the moment at which they were made; whatever else an agent put there is left out."""
    try:
        with os.scandir(folder) as entries:
            names = [
                entry.name
                for entry in entries
                if entry.name >= since and entry.name.endswith(LOG_SUFFIX) and entry.is_file(follow_symlinks=False)
            ]
    except OSError:
        return []  # an agent has removed them
    return [folder / name for name in sorted(names)]


def _told(log: Path) -> LoggedRun | None:
    """What a log tells; None for one that cannot be read, as nobody but an agent makes one."""
    try:
        return read_log(log)
    except (OSError, DiskError):
        return None

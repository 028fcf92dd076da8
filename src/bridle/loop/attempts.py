"""What an iteration used besides its last agent: agents that died and were tried again, or that Bridle did not survive.

Their logs tell. Whatever was killed, and whenever: what was paid for is counted, and counted once.
"""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

from bridle.ground import clock
from bridle.loop.ledger import Spent
from bridle.run.aftermath import Told, told
from bridle.run.logs import LOG_SUFFIX
from bridle.run.request import Request
from bridle.wire.record import Tally


def spent_before(asked: Request, log: Path | None, asked_at: str | None) -> Spent:
    """What agents of this request used since it was first asked for, but for the one of this log."""
    spent = Spent()
    if log is None or asked_at is None:
        return spent
    for one in _logs(log.parent, clock.stamp(datetime.fromisoformat(asked_at))):
        if one != log and _is_of(asked, found := told(one)):
            tokens = found.record.usage if found.record.usage != Tally() else found.record.usage_estimate or Tally()
            spent.join(Spent(found.cost.usd or 0.0, tokens.input_tokens, tokens.output_tokens))
    return spent


def _logs(folder: Path, since: str) -> list[Path]:
    """Their names begin with the moment at which they were made."""
    try:
        names = [name for name in os.listdir(folder) if name >= since and name.endswith(LOG_SUFFIX)]
    except OSError:
        return []  # an agent has removed them
    return [folder / name for name in sorted(names)]


def _is_of(asked: Request, found: Told) -> bool:
    meta = found.meta
    return (meta.get("task"), meta.get("mode"), meta.get("cwd")) == (asked.task, asked.mode, str(asked.cwd))

"""What an iteration used besides its last agent: agents that died and were retried, and agents of killed drivers.

It is read from their logs, so that every cost is counted once, whatever was killed and whenever.
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
    """Cost and time of agents whose iteration has no result."""

    cost_usd: float = 0.0
    spans: list[tuple[datetime, datetime]] = field(default_factory=list)
    """From when to when each of them ran, as far as its log shows."""


def interrupted_work(store: Store, workspaces: Sequence[Path]) -> InterruptedWork:
    """Return what the agents of started iterations without a result used, from their logs.

    Without it, a run that is killed again and again during an iteration would never reach a limit.
    """
    cost, spans = 0.0, []
    for effect in store.state().pending:
        if effect.kind != effects.WORK:
            continue
        args = effects.WorkArgs.from_json(store.task(effect).inputs)
        purpose = effects.work_purpose(store.metadata().run_id, args)
        since = clock.stamp(datetime.fromisoformat(effect.request.recorded_at))
        for log in (log for workspace in workspaces for log in _logs(workspace / FOLDER, since)):
            span, content = _span(log), _read(log)
            if span is not None and content is not None and content.meta.purpose == purpose:
                cost += content.cost.usd or 0.0
                spans.append(span)
    return InterruptedWork(cost, sorted(spans))


def _span(log: Path) -> tuple[datetime, datetime] | None:
    """Return the time from the moment in a log's name to its last change; None where the name has no moment.

    A log that was copied, or that an agent has touched, may have a later change: it counts only until now.
    """
    try:
        began = datetime.strptime(f"{log.name.partition('Z')[0]}+0000", "%Y%m%dT%H%M%S.%f%z")
        return began, min(clock.now(), datetime.fromtimestamp(log.stat().st_mtime, UTC))
    except (ValueError, OSError):
        return None


def spent_before(request: Request, log: Path | None, requested_at: str | None) -> Usage:
    """Return what earlier agents of this iteration used, without the one of this log."""
    spent = Usage()
    if log is None or requested_at is None:
        return spent
    for path in _logs(log.parent, clock.stamp(datetime.fromisoformat(requested_at))):
        content = _read(path) if path != log else None
        if content is not None and content.meta.purpose == request.purpose:
            record = content.record
            tokens = record.usage if record.usage != Tally() else record.usage_estimate or Tally()
            spent.add(Usage(content.cost.usd or 0.0, tokens.input_tokens, tokens.output_tokens))
    return spent


def _logs(folder: Path, since: str) -> list[Path]:
    """Return the logs that began since then, by the moment in their names."""
    try:
        with os.scandir(folder) as entries:
            names = [
                entry.name
                for entry in entries
                if entry.name >= since and entry.name.endswith(LOG_SUFFIX) and entry.is_file(follow_symlinks=False)
            ]
    except OSError:
        return []  # an agent has removed the folder
    return [folder / name for name in sorted(names)]


def _read(log: Path) -> LoggedRun | None:
    """Read a log; None for one that cannot be read, which only an agent can have made."""
    try:
        return read_log(log)
    except (OSError, DiskError):
        return None

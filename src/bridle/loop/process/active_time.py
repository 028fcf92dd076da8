"""How long a run was driven: the time in which somebody was at work on it, or waited for it. Pure.

The value of each effect says when its driver began and when the effect was over. From one end to the next is driven
time, but never more than since the driver of the later one began: a night in which nobody drove the run is no part of
it. All of it comes from the journal, so a replay counts the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import datetime
from typing import Any

CLOCK = "clock"
SINCE = "since"
UNTIL = "until"


def clock_of(since: str, until: str) -> dict[str, str]:
    """What an effect's value carries: when its driver began, and when it was over."""
    return {SINCE: since, UNTIL: until}


class ActiveTime:
    """The sum so far."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._last: datetime | None = None

    def take(self, value: Any) -> None:
        """Count an effect that is over."""
        given = value.get(CLOCK) if isinstance(value, Mapping) else None
        if not isinstance(given, Mapping):
            return  # a person's answer, or a moment that was waited for: the next effect counts the time
        since, until = (datetime.fromisoformat(str(given[name])) for name in (SINCE, UNTIL))
        begin = since if self._last is None else max(since, self._last)
        self.seconds += max(0.0, (until - begin).total_seconds())
        self._last = until if self._last is None else max(until, self._last)


class TimedContext:
    """A process's context that counts the time of every effect before the process hears of it."""

    def __init__(self, ctx: Any, time: ActiveTime) -> None:
        self._ctx = ctx
        self._time = time

    def task(self, *args: Any, **more: Any) -> asyncio.Future[Any]:
        """As that of the context."""
        promise: asyncio.Future[Any] = self._ctx.task(*args, **more)
        promise.add_done_callback(self._count)
        return promise

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ctx, name)

    def _count(self, promise: asyncio.Future[Any]) -> None:
        if not promise.cancelled() and promise.exception() is None:
            self._time.take(promise.result())

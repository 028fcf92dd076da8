"""One census for all callers that want one at the same time. Standard library only, as in `census`."""

from __future__ import annotations

import threading
from typing import Any, Generic, TypeVar

from bridle.ground.light.abc_names import Callable

C = TypeVar("C")


class SharedCensus(Generic[C]):
    """Shares one census among concurrent callers: each gets one that began after its call.

    A hundred agents that end together would otherwise each read all of /proc several times.
    """

    def __init__(self) -> None:
        self._turn = threading.Condition()
        self._begun = 0
        self._done = 0
        self._is_busy = False
        self._latest: C | None = None
        self._waiting: list[float] = []
        """From when on each caller wants the processes: a census is taken for all callers that wait when it begins."""

    def take(self, since: float, take: Callable[[float], C]) -> C:
        """Return the processes that were created at `since` or later, as `take` lists them."""
        with self._turn:
            wanted = self._begun + 1
            self._waiting.append(since)
            try:
                while self._is_busy and self._done < wanted:
                    self._turn.wait()
                if self._done >= wanted and self._latest is not None:
                    return self._latest
                self._is_busy = True
                self._begun = number = self._begun + 1
                earliest = min(self._waiting)
            finally:
                self._waiting.remove(since)
        try:
            latest = take(earliest)
        except BaseException:
            self._leave(None, number)
            raise
        self._leave(latest, number)
        return latest

    def _leave(self, latest: C | None, number: int) -> None:
        with self._turn:
            self._is_busy = False
            if latest is not None:
                self._latest, self._done = latest, number
            self._turn.notify_all()


SHARED: SharedCensus[Any] = SharedCensus()

"""What the screens show, read in one thread beside the event loop: runs, conversations, journals."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar

from bridle.errors import Error
from bridle.views.run_data.board import Board, KnownRun
from bridle.views.run_data.followed_log import FollowedLog
from bridle.views.run_data.journal_entries import journal_window
from bridle.views.run_data.log_list import ListedLog
from bridle.views.terminal.cards import Cards
from bridle.views.terminal.footer import gauge_lines
from bridle.views.terminal.growing_lines import GrowingLines
from bridle.views.terminal.page import DisplayOptions, Page
from bridle.views.terminal.styled_lines import Line
from bridle.wire.events.loose_json import JsonObject
from bridle.wire.mask import Mask
from bridle.wire.record.gauge import gauge_of

T = TypeVar("T")
# The newest entries of a journal: a screen has some dozens of lines, and scrolling back this far takes a while.
JOURNAL_ENTRIES = 1000


class RunSource:
    """The board and the open conversation; everything is read in one thread, in order."""

    def __init__(self, board: Board, mask: Mask) -> None:
        self.board = board
        self.mask = mask
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="bridle-top")

    async def read(self, work: Callable[[], T]) -> T:
        """Run work in the thread."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    async def refresh(self) -> None:
        """Read the runs that have changed."""
        await self.read(self.board.refresh)

    async def journal(self, known: KnownRun) -> list[JsonObject]:
        """Return the newest entries of a run's journal; none of one that cannot be read."""
        return await self.read(lambda: self._journal(known))

    def close(self) -> None:
        """End the thread."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _journal(self, known: KnownRun) -> list[JsonObject]:
        if known.facts is None:
            return []
        try:
            entries: list[JsonObject] = journal_window(known.facts.store, -JOURNAL_ENTRIES, JOURNAL_ENTRIES, self.mask)[
                "entries"
            ]
        except (Error, OSError):
            return []  # its card says what is wrong
        return entries


class Host(Protocol):
    """What a screen needs of the program that shows it."""

    source: RunSource

    def now(self) -> float:
        """Return the present time in seconds since the epoch."""
        ...

    def retry(self, known: KnownRun, task: str) -> None:
        """Try a task again after a confirmation."""
        ...


class OpenConversation:
    """The conversation of one log as lines of a width, read as it grows."""

    def __init__(self, listed: ListedLog, agent: str, mask: Mask, width: int) -> None:
        self.listed = listed
        self.width = width
        self.log = FollowedLog(listed.path, agent, mask)
        self._page = Page(mask, DisplayOptions(width=width))
        cards = Cards(self.log.transcript, mask, self._page.options)
        self._growing = GrowingLines(self.log.transcript, cards, self._page.options, has_live_region=True)
        self._settled: list[Line] = []
        self._is_complete = False

    def update(self) -> list[Line] | None:
        """Read what is new; return all lines, or None where nothing has changed. Called in the thread."""
        if self._is_complete or (self._settled and not self.log.has_new()):
            return None
        before = self.log.position
        try:
            while self.log.read_new():
                pass
        except OSError:
            return None
        if self.log.position == before and self._settled and self.log.is_running:
            return None
        self._is_complete = not self.log.is_running
        self._settled += self._growing.rest() if self._is_complete else self._growing.settled()
        below = [] if self._is_complete else self._growing.unsettled()
        gauge = gauge_lines(self._page, gauge_of(self.log.recorder.record), self.width)
        return [*self._settled, *below, *gauge]

    def close(self) -> None:
        """Close the file."""
        self.log.close()

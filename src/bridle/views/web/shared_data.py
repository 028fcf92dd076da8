"""What all pages of the server share: the board and the conversations, each read once, however many pages look.

Journals and logs are read in threads. One lock guards the board, for a look at it only; one each run, for what takes
long: git, and reading its journal again; and one each conversation: nothing is read while it changes.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TypeVar
from weakref import WeakValueDictionary

from bridle.ground.threads import in_thread
from bridle.views.run_data.board import Board, KnownRun
from bridle.views.run_data.conversation_pages import Conversation, seconds_of
from bridle.views.run_data.followed_log import FollowedLog
from bridle.views.run_data.log_ending import agent_of, read_meta_if_possible
from bridle.views.run_data.log_list import ListedLog
from bridle.wire.mask import Mask

T = TypeVar("T")

NO_RUN = "-"
"""The name of a run in the address of a log that belongs to none."""
# A look at the board costs some milliseconds a run; a user sees no difference.
_BOARD_SECONDS = 0.4
# Conversations in memory that no page looks at, by the size of their logs: opening one again takes seconds.
_IDLE_BYTES = 64 * 1024 * 1024


class WatchedLog:
    """A conversation, the pages that look at it, and its lock."""

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self.lock = asyncio.Lock()
        self.users = 0

    async def catch_up(self) -> None:
        """Read all that is new, in steps between which other requests are answered."""
        log = self.conversation.log
        while log.is_running:
            async with self.lock:
                has_more = await in_thread(log.read_new, name="reading a log")
            if not has_more:
                return

    async def call(self, work: Callable[[], T]) -> T:
        """Do some work on the conversation while nothing else reads or changes it."""
        async with self.lock:
            return await in_thread(work, name="reading a conversation")


class SharedData:
    """The board and the conversations."""

    def __init__(self, board: Board, environment: Mapping[str, str], mask: Mask) -> None:
        self.environment = environment
        self.mask = mask
        self._board = board
        self._lock = asyncio.Lock()
        self._run_locks: WeakValueDictionary[Path, asyncio.Lock] = WeakValueDictionary()
        self._looked = 0.0
        self._logs: dict[Path, WatchedLog] = {}

    async def with_board(self, work: Callable[[Board], T]) -> T:
        """Do some work on the board, after a look at what has changed if the last one is not new."""
        async with self._lock:
            return await in_thread(lambda: work(self._current_board()), name="reading the runs")

    async def find_run(self, run_id: str) -> KnownRun | None:
        """Return a run as it is now; None if the id is unknown."""

        def copy_of(board: Board) -> KnownRun | None:
            known = board.refresh_one(run_id)
            return None if known is None else known.copy()

        return await self.with_board(copy_of)

    async def with_run(
        self, run_id: str, work: Callable[[KnownRun], T], *, is_gone: Callable[[], Awaitable[bool]] | None = None
    ) -> T | None:
        """Do some work on one run as it is now, after other such work; None if the id is unknown.

        Work that has no receiver any more when its turn comes is not done.
        """
        known = await self.find_run(run_id)
        if known is None:
            return None
        async with self._run_locks.setdefault(known.folder, asyncio.Lock()):
            if is_gone is not None and await is_gone():
                return None
            return await in_thread(lambda: work(known), name="reading a run")

    async def find_log(self, run_id: str, log_id: str) -> WatchedLog | None:
        """Return the conversation of a log by the ids in its address; None if an id is unknown."""
        listed = await self.with_board(lambda board: _find(board, run_id, log_id))
        if listed is None:
            return None
        known = self._logs.pop(listed.path, None)
        if known is not None and known.conversation.log.was_replaced:
            known.conversation.log.close()
            known = None
        if known is None:
            known = WatchedLog(self._open(run_id, listed))
        self._logs[listed.path] = known  # the one that was used last is at the end
        self._forget_idle()
        return known

    def _current_board(self) -> Board:
        if time.monotonic() - self._looked > _BOARD_SECONDS:
            self._board.refresh()
            self._looked = time.monotonic()
        return self._board

    def _open(self, run_id: str, listed: ListedLog) -> Conversation:
        log = FollowedLog(listed.path, agent_of(listed.path), self.mask)
        started_at = seconds_of(read_meta_if_possible(listed.path).started)
        return Conversation(log, self.mask, started_at, f"/api/runs/{run_id}/logs/{listed.id}")

    def _forget_idle(self) -> None:
        """Forget conversations that no page looks at, the one that was used first before others."""
        idle = [path for path, known in self._logs.items() if not known.users and not known.lock.locked()]
        kept = 0
        for path in reversed(idle):
            kept += self._logs[path].conversation.log.position
            if kept > _IDLE_BYTES and path is not idle[-1]:
                self._logs.pop(path).conversation.log.close()


def _find(board: Board, run_id: str, log_id: str) -> ListedLog | None:
    """Return a log by comparing ids: no part of an address becomes part of a path."""
    if run_id == NO_RUN:
        logs = board.sessions
    else:
        known = board.refresh_one(run_id)
        logs = [] if known is None else known.logs
    return next((log for log in logs if log.id == log_id), None)

"""What changes, sent to a page as server-sent events while it is open.

Each connection compares what it has sent with what there is, and sends the difference: a slow page gets fewer and
larger events, and nothing waits in memory for it. The id of an event holds how far the page is in each log, as byte
offsets, and in each journal; a server that was started again continues from there.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import time
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import msgspec
from msgspec import Struct, field

from bridle.views.run_data.board import Board, KnownRun
from bridle.views.run_data.checks_and_charts import check_documents, finished_effects
from bridle.views.run_data.log_list import log_document
from bridle.views.run_data.run_page import journal_summary
from bridle.views.web.responses import encode
from bridle.views.web.shared_data import NO_RUN, SharedData, WatchedLog
from bridle.wire.events.loose_json import JsonObject

# Logs are looked at this often: a stat of the file. Text that appears within a tenth of a second appears at once.
POLL_SECONDS = 0.05
BOARD_SECONDS = 0.5
# Proxies and browsers close a connection that is silent for longer.
COMMENT_SECONDS = 10.0
# Of the logs that one page can follow: a task and its sub-agents are in one.
LOGS_LIMIT = 20
_CURSOR_CHARACTERS = 8000


class Cursor(Struct):
    """How far a page is."""

    logs: dict[str, int] = field(default_factory=dict, name="l")
    """The offset in each log."""
    journal: int | None = field(default=None, name="j")
    """The number of the last journal entry."""

    def encode(self) -> str:
        return base64.urlsafe_b64encode(msgspec.json.encode(self)).decode("ascii").rstrip("=")

    @classmethod
    def decode(cls, text: str) -> Cursor | None:
        """Return the cursor in the id of an event; None for anything else."""
        try:
            padded = text[:_CURSOR_CHARACTERS] + "=" * (-len(text) % 4)
            return msgspec.json.decode(base64.b64decode(padded, altchars=b"-_", validate=True), type=cls)
        except (ValueError, binascii.Error, msgspec.MsgspecError):
            return None


class Stream:
    """One connection of a page."""

    def __init__(self, data: SharedData, run: str | None, logs: Sequence[str], last: str) -> None:
        self._data = data
        self._run = run
        self._log_ids = list(dict.fromkeys(logs))[:LOGS_LIMIT]
        known = Cursor.decode(last) if last else None
        self._is_resumed = known is not None
        self._cursor = known or Cursor()
        self._logs: dict[str, WatchedLog] = {}
        self._ended: set[str] = set()
        self._versions: dict[str, int] = {}
        self._log_documents: dict[str, JsonObject] = {}
        self._sessions: list[str] | None = None
        self._first: list[bytes] = []
        """The first events, which a page gets that continues."""

    async def open(self) -> None:
        """Note how far everything is, before the page has its answer: what it asks for after that is not older.

        Of a log that is the size of its file: lines that end later are sent.
        """
        async for event in self._board_events():
            self._first.append(event)
        for log_id in self._log_ids:
            known = await self._data.find_log(self._run or NO_RUN, log_id)
            if known is not None:
                self._cursor.logs.setdefault(log_id, known.conversation.log.size)

    async def events(self, is_stopping: Callable[[], bool]) -> AsyncIterator[bytes]:
        """Yield the events of a page until it closes the connection or the server stops."""
        try:
            yield b": bridle\n\n"
            for event in self._first:
                yield event
            board_at, sent_at = time.monotonic(), 0.0
            while not is_stopping():
                if time.monotonic() - board_at >= BOARD_SECONDS:
                    async for event in self._board_events():
                        sent_at = time.monotonic()
                        yield event
                    board_at = time.monotonic()
                async for event in self._log_events():
                    sent_at = time.monotonic()
                    yield event
                if time.monotonic() - sent_at > COMMENT_SECONDS:
                    sent_at = time.monotonic()
                    yield b": still here\n\n"
                await asyncio.sleep(POLL_SECONDS)
        finally:
            for known in self._logs.values():
                known.users -= 1

    async def _board_events(self) -> AsyncIterator[bytes]:
        is_first = self._sessions is None
        board = await self._data.with_board(self._board_changes)
        if board is not None and (self._is_resumed or not is_first):  # a new page asks for the board itself
            yield self._event("board", board)
        if self._run is not None and self._run != NO_RUN:
            run = await self._data.with_run(self._run, self._run_changes)
            if run is not None:
                yield self._event("run", run)

    def _board_changes(self, board: Board) -> JsonObject | None:
        """Return the cards that this page does not have as they are now."""
        versions = {run_id: known.version for run_id, known in board.runs.items()}
        changed = [run_id for run_id, version in versions.items() if self._versions.get(run_id) != version]
        removed = [run_id for run_id in self._versions if run_id not in versions]
        ids = [log.id for log in board.sessions]
        is_same = ids == self._sessions
        self._versions, self._sessions = versions, ids
        if not changed and not removed and is_same:
            return None
        document: JsonObject = {"runs": [board.runs[run_id].card for run_id in changed], "removed": removed}
        document |= {"needs": board.needs, "now": time.time()}
        if not is_same:
            document["sessions"] = [log_document(log, self._data.mask) for log in board.sessions]
        return document

    def _run_changes(self, known: KnownRun) -> JsonObject | None:
        """Return what changed on the page of the run."""
        if known.facts is None:
            return None
        mask, count = self._data.mask, known.facts.state.position.seq
        documents = known.log_documents(mask)
        changed = [document for log, document in documents.items() if self._log_documents.get(log) != document]
        self._log_documents = documents
        before, self._cursor.journal = self._cursor.journal, count
        if before is None or (not changed and before == count):  # a new page asks for the run itself
            return None
        new = check_documents(list(finished_effects(known.facts.store, known.facts.state)), mask, after=before or 0)
        document = {"run": self._run, "card": known.card, "logs": changed, "journal": journal_summary(known.facts)}
        return document | {"checks": new, "needs": known.needs}

    async def _log_events(self) -> AsyncIterator[bytes]:
        for log_id in self._log_ids:
            if log_id in self._ended:
                continue
            known = self._logs.get(log_id) or await self._start(log_id)
            if known is None:
                continue  # it may begin later
            log = known.conversation.log
            if log.was_replaced:
                yield self._event("reset", {"log": log_id})
                del self._logs[log_id]
                known.users -= 1
                self._cursor.logs[log_id] = 0
                continue
            if log.has_new():
                await known.catch_up()
            changes = await self._changes(log_id, known)
            if changes is not None:
                self._cursor.logs[log_id] = changes["position"]
                yield self._event("items", {"log": log_id, **changes})
            if not log.is_running:
                self._ended.add(log_id)
                yield self._event("end", {"log": log_id})

    async def _changes(self, log_id: str, known: WatchedLog) -> JsonObject | None:
        conversation, after = known.conversation, self._cursor.logs[log_id]
        if conversation.log.position <= after:
            return None
        return await known.call(lambda: conversation.changes_after(after))

    async def _start(self, log_id: str) -> WatchedLog | None:
        """Begin to follow a log: from the offset of the page; from its start if it began after the page."""
        known = await self._data.find_log(self._run or NO_RUN, log_id)
        if known is not None:
            known.users += 1
            self._logs[log_id] = known
            await known.catch_up()
            self._cursor.logs.setdefault(log_id, 0)
        return known

    def _event(self, name: str, document: dict[str, Any]) -> bytes:
        data = encode(document)  # in one line: JSON escapes line ends
        return b"event: %s\nid: %s\ndata: %s\n\n" % (name.encode(), self._cursor.encode().encode(), data)

"""What the server answers about runs: the board, a run, its journal, an earlier state, the diff of a commit."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from bridle import __version__
from bridle.ground.threads import in_thread
from bridle.views.run_data.board import Board, KnownRun
from bridle.views.run_data.commits import commit_diff
from bridle.views.run_data.journal_entries import journal_window
from bridle.views.run_data.log_list import ListedLog, log_document
from bridle.views.run_data.run_page import run_document
from bridle.views.run_data.state_at import state_at
from bridle.views.web.responses import COUNT, Answer, number, path_number
from bridle.views.web.shared_data import SharedData
from bridle.wire.events.loose_json import JsonObject

if TYPE_CHECKING:
    from starlette.requests import Request


class RunRoutes:
    """The answers about runs."""

    def __init__(self, data: SharedData, top: Path) -> None:
        self._data = data
        self._top = top

    def answers(self) -> dict[str, Answer]:
        """Return the answers by address."""
        return {
            "/api/board": self.board,
            "/api/runs/{run}": self.run,
            "/api/runs/{run}/journal": self.journal,
            "/api/runs/{run}/at/{seq}": self.at,
            "/api/runs/{run}/commits/{commit}/diff": self.diff,
        }

    async def board(self, _: Request) -> JsonObject:
        """Return the cards of all runs."""
        cards, needs, logs = await self._data.with_board(_shown)
        mask = self._data.mask
        return {
            "version": __version__,
            "repository": {"path": str(self._top), "name": self._top.name},
            "runs": cards,
            "needs": needs,
            "sessions": await in_thread(lambda: [log_document(log, mask) for log in logs], name="reading logs"),
            "now": time.time(),
        }

    async def run(self, request: Request) -> JsonObject | None:
        """Return the page of a run."""
        environment, mask = self._data.environment, self._data.mask
        return await self._with_run(request, lambda known: run_document(known, environment, mask))

    async def journal(self, request: Request) -> JsonObject | None:
        """Return a window of the journal."""
        first, count = number(request, "from", 1), number(request, "count", COUNT)
        mask = self._data.mask
        return await self._with_run(
            request,
            lambda known: None if known.facts is None else journal_window(known.facts.store, first, count, mask),
        )

    async def at(self, request: Request) -> JsonObject | None:
        """Return the run as it was at an entry."""
        seq, environment, mask = path_number(request, "seq"), self._data.environment, self._data.mask
        return await self._with_run(
            request, lambda known: None if known.facts is None else state_at(known.facts.store, seq, environment, mask)
        )

    async def diff(self, request: Request) -> JsonObject | None:
        """Return the diff of a commit, if it is one of the run's."""
        commit, environment, mask = request.path_params["commit"], self._data.environment, self._data.mask

        def document(known: KnownRun) -> JsonObject | None:
            receipt = None if known.facts is None else known.facts.receipt
            if known.facts is None or receipt is None or commit not in receipt.commits:
                return None
            return commit_diff(known.facts.repository, commit, environment, mask)

        return await self._with_run(request, document)

    async def _with_run(self, request: Request, work: Callable[[KnownRun], JsonObject | None]) -> JsonObject | None:
        """Do some work on a run; none for a page that is closed or has asked for something else until its turn."""
        await request.body()  # what is received after it is the end of the connection
        return await self._data.with_run(request.path_params["run"], work, is_gone=request.is_disconnected)


def _shown(board: Board) -> tuple[list[JsonObject], list[JsonObject], list[ListedLog]]:
    return [known.card for known in board.runs.values()], board.needs, board.sessions

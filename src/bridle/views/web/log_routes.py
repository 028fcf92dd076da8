"""What the server answers about conversations: windows, items, raw lines, images, search."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bridle.ground.threads import in_thread
from bridle.views.run_data.board import Board
from bridle.views.run_data.conversation_pages import parse_filter, seconds_of
from bridle.views.run_data.log_ending import read_meta_if_possible
from bridle.views.run_data.log_images import read_image
from bridle.views.run_data.log_list import ListedLog
from bridle.views.run_data.search import HITS, Search
from bridle.views.web.responses import COUNT, Answer, json_response, number, path_number
from bridle.views.web.shared_data import NO_RUN, SharedData, WatchedLog
from bridle.wire.events.loose_json import JsonObject

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

LOG = "/api/runs/{run}/logs/{log}"
# Of one line of a log; a screenshot in it is longer, and has an address of its own.
_RAW_LINE_BYTES = 256 * 1024


class LogRoutes:
    """The answers about conversations."""

    def __init__(self, data: SharedData) -> None:
        self._data = data

    def answers(self) -> dict[str, Answer]:
        """Return the answers by address, without images."""
        return {
            f"{LOG}/items": self.items,
            f"{LOG}/items/{{item}}": self.item,
            f"{LOG}/items/{{item}}/raw": self.raw,
            "/api/search": self.search,
        }

    async def items(self, request: Request) -> JsonObject | None:
        """Return a window of a conversation, or of the items that match a filter."""
        log = await self._log(request)
        if log is None:
            return None
        thread, wanted = request.query_params.get("thread") or None, request.query_params.get("filter", "")
        start, count = number(request, "start", 0), number(request, "count", COUNT)
        await log.catch_up()
        if not wanted:
            return await log.call(lambda: log.conversation.window(thread, start, count))
        return await log.call(lambda: log.conversation.filtered(thread, parse_filter(wanted), start, count))

    async def item(self, request: Request) -> JsonObject | None:
        """Return one item."""
        log, item_id = await self._log(request), path_number(request, "item")
        if log is None:
            return None
        await log.catch_up()

        return await log.call(lambda: log.conversation.whole_item(item_id))

    async def raw(self, request: Request) -> JsonObject | None:
        """Return the lines of the log that made an item, masked."""
        log, item_id, mask = await self._log(request), path_number(request, "item"), self._data.mask
        if log is None:
            return None
        await log.catch_up()
        read_bytes = _RAW_LINE_BYTES + mask.reach  # masked before it is cut: half a secret is not recognised
        lines = await log.call(lambda: list(log.conversation.log.raw_lines(item_id, read_bytes)))
        return {"lines": [mask.apply(line.decode("utf-8", "replace"))[:_RAW_LINE_BYTES] for line in lines]}

    async def image(self, request: Request) -> Response:
        """Answer with an image of an item."""
        from starlette.responses import Response

        log, item, place = await self._log(request), path_number(request, "item"), path_number(request, "number")
        if log is not None:
            await log.catch_up()
            followed = log.conversation.log
            found = await log.call(lambda: read_image(followed, item, place))
            if found is not None:
                return Response(found.data, media_type=found.media_type)
        return json_response({"ok": False, "error": "not found", "message": "there is no such image"}, 404)

    async def search(self, request: Request) -> JsonObject:
        """Return where a word is: in all runs or in one, in all tasks or in those of one title."""
        query = request.query_params
        only, kind = query.get("run"), query.get("kind", "")
        wanted = kind if kind in ("", "error") else f"kind:{kind}"
        search = Search(query.get("q", ""), parse_filter(wanted), self._data.mask, task=query.get("task", ""))
        found = await self._data.with_board(lambda board: _searched(board, only))
        for run_id, card, logs in found:
            await in_thread(lambda: _search_run(search, run_id, card, logs), name="searching")  # noqa: B023  # awaited
        return {"hits": search.hits[:HITS], "truncated": search.is_truncated}

    async def _log(self, request: Request) -> WatchedLog | None:
        return await self._data.find_log(request.path_params["run"], request.path_params["log"])


def _searched(board: Board, only: str | None) -> list[tuple[str, JsonObject | None, list[ListedLog]]]:
    """Return the runs to search, newest first, each with its logs, newest first; and the sessions of no run."""
    runs = [(run, known) for run, known in board.runs.items() if only in (None, "", run)]
    found: list[tuple[str, JsonObject | None, list[ListedLog]]] = [
        (run, known.card, known.logs[::-1]) for run, known in runs
    ]
    return [*found, (NO_RUN, None, board.sessions)] if only in (None, "", NO_RUN) else found


def _search_run(search: Search, run: str, card: JsonObject | None, logs: list[ListedLog]) -> None:
    if card is not None and not search.is_over():
        search.add_card(card)
    for log in logs:
        search.add_log(run, log, seconds_of(read_meta_if_possible(log.path).started))

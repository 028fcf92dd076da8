"""Answers under way: pieces become a live item, which the finished block then replaces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bridle.wire.events.events import StreamEvent
from bridle.wire.transcript.item_board import ItemBoard
from bridle.wire.transcript.items import Thought, Words

_KINDS: dict[str, type[Words | Thought]] = {"text": Words, "thinking": Thought}


@dataclass(slots=True)
class _Live:
    """An item that still grows, or whose finished block has not come."""

    item_id: int
    kind: type[Words | Thought]
    room: int
    stopped: bool = False


class Partials:
    """The live items of each thread, by the index of their block."""

    def __init__(self, board: ItemBoard, limit: int) -> None:
        self._board = board
        self._limit = limit
        self._live: dict[str | None, dict[int, _Live]] = {}
        self._messages: dict[str | None, str | None] = {}

    def add(self, event: StreamEvent, at: float | None) -> None:
        """Take in one piece of an answer."""
        data, thread = event.data, event.parent_tool_use_id
        match data.get("type"):
            case "message_start":
                self._start(thread, data.get("message"))
            case "content_block_start":
                self._open(thread, data, at)
            case "content_block_delta":
                self._extend(thread, data)
            case "content_block_stop":
                self._stop(thread, _index(data))

    def take(self, kind: type[Words | Thought], thread: str | None) -> int | None:
        """The live item that a finished block of this kind replaces."""
        live = self._live.get(thread, {})
        for index, item in live.items():
            if item.kind is kind:
                del live[index]
                return item.item_id
        return None

    def finish(self) -> None:
        """No more pieces will come: what there is stays as it is."""
        for live in self._live.values():
            for item in live.values():
                self._settle(item)
            live.clear()

    def _start(self, thread: str | None, message: Any) -> None:
        """A new answer; what the one before it left unfinished was cut off and will be said again."""
        for item in self._live.pop(thread, {}).values():
            if not item.stopped:
                self._board.remove(item.item_id)
        message_id = message.get("id") if isinstance(message, dict) else None
        self._messages[thread] = message_id if isinstance(message_id, str) else None

    def _open(self, thread: str | None, data: dict[str, Any], at: float | None) -> None:
        block = data.get("content_block")
        kind = _KINDS.get(str(block.get("type"))) if isinstance(block, dict) else None
        if kind is None or _index(data) in self._live.get(thread, {}):
            return
        item_id = self._board.put(kind, thread, at=at, live=True, message_id=self._messages.get(thread))
        self._live.setdefault(thread, {})[_index(data)] = _Live(item_id, kind, self._limit)

    def _extend(self, thread: str | None, data: dict[str, Any]) -> None:
        live = self._live.get(thread, {}).get(_index(data))
        delta = data.get("delta")
        if live is None or not isinstance(delta, dict):
            return
        piece = delta.get("text") if live.kind is Words else delta.get("thinking")
        if isinstance(piece, str) and live.room > 0:
            self._board.grow(live.item_id, piece[: live.room])
            live.room -= len(piece)

    def _stop(self, thread: str | None, index: int) -> None:
        live = self._live.get(thread, {}).get(index)
        if live is not None:
            self._settle(live)

    def _settle(self, live: _Live) -> None:
        live.stopped = True
        item = self._board.item(live.item_id)
        if isinstance(item, Words | Thought) and item.live:
            self._board.change(live.item_id, live=False)


def _index(data: dict[str, Any]) -> int:
    index = data.get("index")
    return index if isinstance(index, int) else 0

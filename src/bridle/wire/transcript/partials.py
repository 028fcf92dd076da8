"""Unfinished answers: deltas grow a live item, which the finished block then replaces."""

from __future__ import annotations

from msgspec import Struct

from bridle.wire.events.decode_tolerant import struct_decoder
from bridle.wire.events.events import StreamEvent
from bridle.wire.transcript.item_board import ItemBoard
from bridle.wire.transcript.items import TextItem, Thought

TOOL_USE = "tool_use"
_KINDS: dict[str, type[TextItem | Thought]] = {"text": TextItem, "thinking": Thought}


class MessageStart(Struct, frozen=True):
    """The message that a `message_start` begins."""

    id: str | None = None


class ContentBlock(Struct, frozen=True):
    """The block that a `content_block_start` begins."""

    type: str = ""
    id: str = ""
    name: str = ""


class Delta(Struct, frozen=True):
    """A piece of a block."""

    text: str | None = None
    thinking: str | None = None
    partial_json: str | None = None


class StreamData(Struct, frozen=True):
    """The content of a stream event; each type has some of these fields."""

    type: str = ""
    index: int = 0
    message: MessageStart = MessageStart()
    content_block: ContentBlock = ContentBlock()
    delta: Delta = Delta()


_decode = struct_decoder(StreamData)


class _Live(Struct):
    """An item that still grows, or whose finished block has not arrived."""

    item_id: int
    kind: type[TextItem | Thought]
    room: int
    stopped: bool = False


class PartialCall(Struct):
    """A tool call whose input arrives in pieces."""

    thread: str | None
    message_id: str | None
    call_id: str
    name: str
    input: str = ""


class Partials:
    """The live items of each thread, by the index of their block."""

    def __init__(self, board: ItemBoard, limit: int) -> None:
        self._board = board
        self._limit = limit
        self._live: dict[str | None, dict[int, _Live]] = {}
        self._messages: dict[str | None, str | None] = {}
        self._calls: dict[tuple[str | None, int], PartialCall] = {}

    def add(self, event: StreamEvent, at: float | None) -> None:
        data, thread = _decode(event.event), event.parent_tool_use_id
        match data.type:
            case "message_start":
                self._start(thread, data.message.id)
            case "content_block_start":
                self._open(thread, data, at)
            case "content_block_delta":
                self._extend(thread, data)
            case "content_block_stop":
                self._stop(thread, data.index)

    def take(self, kind: type[TextItem | Thought], thread: str | None) -> int | None:
        """Return the live item that a finished block of this kind replaces."""
        live = self._live.get(thread, {})
        for index, item in live.items():
            if item.kind is kind:
                del live[index]
                return item.item_id
        return None

    def unfinished_calls(self) -> list[PartialCall]:
        """Return the calls of the last message; those that were printed whole are among them."""
        return list(self._calls.values())

    def finish(self) -> None:
        """Settle all live items: no more deltas will come."""
        for live in self._live.values():
            for item in live.values():
                self._settle(item)
            live.clear()

    def _start(self, thread: str | None, message_id: str | None) -> None:
        """Begin an answer; unfinished items of the one before were cut off and will be repeated."""
        for item in self._live.pop(thread, {}).values():
            if not item.stopped:
                self._board.remove(item.item_id)
        self._messages[thread] = message_id
        self._calls = {place: call for place, call in self._calls.items() if call.thread != thread}

    def _open(self, thread: str | None, data: StreamData, at: float | None) -> None:
        block = data.content_block
        if block.type == TOOL_USE:
            call = PartialCall(thread, self._messages.get(thread), block.id, block.name)
            self._calls[thread, data.index] = call
        kind = _KINDS.get(block.type)
        if kind is None or data.index in self._live.get(thread, {}):
            return
        item_id = self._board.put(kind, thread, at=at, live=True, message_id=self._messages.get(thread))
        self._live.setdefault(thread, {})[data.index] = _Live(item_id, kind, self._limit)

    def _extend(self, thread: str | None, data: StreamData) -> None:
        live, call = self._live.get(thread, {}).get(data.index), self._calls.get((thread, data.index))
        if call is not None and len(call.input) < self._limit:
            call.input += data.delta.partial_json or ""
        if live is None:
            return
        piece = data.delta.text if live.kind is TextItem else data.delta.thinking
        if piece is not None and live.room > 0:
            self._board.grow(live.item_id, piece[: live.room])
            live.room -= len(piece)

    def _stop(self, thread: str | None, index: int) -> None:
        live = self._live.get(thread, {}).get(index)
        if live is not None:
            self._settle(live)

    def _settle(self, live: _Live) -> None:
        live.stopped = True
        item = self._board.item(live.item_id)
        if isinstance(item, TextItem | Thought) and item.live:
            self._board.change(live.item_id, live=False)

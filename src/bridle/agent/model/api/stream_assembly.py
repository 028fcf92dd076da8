"""Assembles a streamed answer: frames in, pieces out. Pure.

Unknown kinds of frames, blocks and deltas are passed on as StreamFrame and otherwise ignored.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from bridle.agent.model.api.api_json import parse_tool_input
from bridle.agent.model.api.stream_pieces import (
    AnswerFinished,
    AnswerPiece,
    AnswerStarted,
    BlockFinished,
    JsonObject,
    StreamFrame,
    ThinkingProgress,
)

# The usual estimate; the endpoint's own count is final.
CHARACTERS_PER_TOKEN = 4

# A server that does not know these figures at the end sends zeros; then the earlier ones are kept.
_KEPT_WHEN_ZERO = frozenset({"input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"})


class Stop(Struct, frozen=True):
    """Why an answer ended."""

    stop_reason: str | None = None
    stop_sequence: str | None = None
    stop_details: JsonObject | None = None


class Delta(Stop, frozen=True):
    """What a frame adds to a block, or in `message_delta` to the message; each type has some of these fields."""

    type: str | None = None
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    partial_json: str | None = None
    citation: Any = None


class Frame(Struct, frozen=True):
    """A frame; each type has some of these fields."""

    type: str | None = None
    index: int | None = None
    message: JsonObject | None = None
    content_block: JsonObject | None = None
    delta: Delta | None = None
    usage: JsonObject | None = None


_NO_DELTA = Delta()


def decode_frame(data: JsonObject) -> Frame:
    """Decode a frame; a field of the wrong type counts as missing, with the rest of the frame."""
    try:
        return msgspec.convert(data, Frame)
    except msgspec.ValidationError:
        return Frame(type=str(data.get("type")))


class Assembly:
    """The answer so far."""

    def __init__(self, request_id: str | None) -> None:
        self._request_id = request_id
        self._open: dict[int, _Block] = {}
        self._stop = Stop()
        self.usage: JsonObject = {}
        """The usage that the endpoint has reported so far."""
        self.has_begun = False
        self.has_content = False
        """Whether any block has started."""
        self.has_called = False
        """Whether a tool call is complete."""
        self.has_ended = False

    @property
    def is_complete(self) -> bool:
        """Whether only the last frame is missing: the stop reason is known, and no block is open."""
        return bool(self._stop.stop_reason) and not self._open

    def add(self, data: JsonObject, frame: Frame) -> list[AnswerPiece]:
        """Add one frame, as received and decoded, and return its pieces."""
        if frame.type == "ping" or self.has_ended:
            return []
        index, delta = frame.index or 0, frame.delta or _NO_DELTA
        before: list[AnswerPiece] = []
        after: list[AnswerPiece] = []
        match frame.type:
            case "message_start" if not self.has_begun:
                self.has_begun = True
                message = frame.message or {}
                self.usage = _usage(message)
                before = [AnswerStarted({**message, "content": []}, self._request_id)]
            case "content_block_start":
                self.has_content = True
                self._open[index] = _Block(frame.content_block or {})
            case "content_block_delta" if index in self._open:
                before = self._open[index].add(delta)
            case "content_block_stop":
                before = self._close(index)
            case "message_delta":
                self._stop = self._stop if delta.stop_reason is None else delta
                self.usage = merge_usage(self.usage, frame.usage or {})
            case "message_stop":
                before = self._close_all()
                after = [self.end()]
        text = delta.text if delta.type == "text_delta" else None
        return [*before, StreamFrame(data, frame.type, text or ""), *after]

    def end(self) -> AnswerFinished:
        """Return the last piece of a complete answer."""
        self.has_ended = True
        return _finished(self._stop, self.usage)

    def _close(self, index: int) -> list[AnswerPiece]:
        block = self._open.pop(index, None)
        if block is None:
            return []
        self.has_called = self.has_called or block.is_call
        return [BlockFinished(index, block.whole())]

    def _close_all(self) -> list[AnswerPiece]:
        """Finish all blocks; some servers omit the end of the last one."""
        return [piece for index in sorted(self._open) for piece in self._close(index)]


class _Block:
    """A content block that is being streamed."""

    def __init__(self, start: JsonObject) -> None:
        self._start = start
        self._texts: dict[str, list[str]] = {}
        self._citations: list[Any] = []
        self._input: list[str] = []
        self._thought_tokens = 0

    @property
    def is_call(self) -> bool:
        return self._start.get("type") == "tool_use"

    def add(self, delta: Delta) -> list[AnswerPiece]:
        match delta.type:
            case "text_delta":
                self._append("text", delta.text)
            case "input_json_delta":
                self._input.append(delta.partial_json or "")
            case "citations_delta":
                self._citations.append(delta.citation)
            case "thinking_delta":
                self._append("thinking", delta.thinking)
                return self._thought(-(-len(delta.thinking or "") // CHARACTERS_PER_TOKEN))
            case "signature_delta":
                self._append("signature", delta.signature)
                return self._thought(_signed_tokens("".join(self._texts["signature"])) - self._thought_tokens)
        return []

    def whole(self) -> JsonObject:
        block = {**self._start, **{key: "".join(parts) for key, parts in self._texts.items()}}
        if self._citations:
            block["citations"] = [*(self._start.get("citations") or []), *self._citations]
        if any(self._input):
            block["input"] = parse_tool_input("".join(self._input))
        return block

    def _append(self, key: str, text: str | None) -> None:
        if key not in self._texts:
            begun = self._start.get(key)
            self._texts[key] = [begun] if isinstance(begun, str) else []
        self._texts[key].append(text or "")

    def _thought(self, tokens: int) -> list[AnswerPiece]:
        if tokens <= 0:
            return []
        self._thought_tokens += tokens
        return [ThinkingProgress(self._thought_tokens, tokens)]


def merge_usage(earlier: JsonObject, later: JsonObject) -> JsonObject:
    """Merge the usage of `message_delta` into that of `message_start`: its figures are totals."""
    usage = dict(earlier)
    for key, value in later.items():
        if value is None or (key in _KEPT_WHEN_ZERO and not value and usage.get(key)):
            continue
        usage[key] = {**usage[key], **value} if isinstance(value, dict) and isinstance(usage.get(key), dict) else value
    return usage


def _signed_tokens(signature: str) -> int:
    """Estimate the tokens of thinking that is known only by its signature, the Base64 of all of it."""
    return -(-len(signature) * 3 // (4 * CHARACTERS_PER_TOKEN))


def whole_answer(message: JsonObject, request_id: str | None) -> list[AnswerPiece]:
    """Return the pieces of an answer that was not streamed; its `content` is a list."""
    blocks = [block for block in message["content"] if isinstance(block, dict)]
    return [
        AnswerStarted({**message, "content": []}, request_id, final=True),
        *(BlockFinished(index, block) for index, block in enumerate(blocks)),
        _finished(_stop(message), _usage(message)),
    ]


def _finished(stop: Stop, usage: JsonObject) -> AnswerFinished:
    return AnswerFinished(stop.stop_reason, stop.stop_sequence, usage, stop.stop_details)


def _usage(message: JsonObject) -> JsonObject:
    usage = message.get("usage")
    return dict(usage) if isinstance(usage, dict) else {}


def _stop(message: JsonObject) -> Stop:
    try:
        return msgspec.convert(message, Stop)
    except msgspec.ValidationError:
        return Stop()

"""Assembles a streamed answer: frames in, pieces out. Pure.

Unknown kinds of frames, blocks and deltas are passed on as StreamFrame and otherwise ignored.
"""

from __future__ import annotations

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

# Which key of each kind of delta is appended to which key of the block.
_APPENDED = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("signature", "signature"),
}


class Assembly:
    """The answer so far."""

    def __init__(self, request_id: str | None) -> None:
        self._request_id = request_id
        self._open: dict[int, _Block] = {}
        self._stop: JsonObject = {}
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
        return bool(self._stop.get("stop_reason")) and not self._open

    def add(self, frame: JsonObject) -> list[AnswerPiece]:
        kind = frame.get("type")
        if kind == "ping" or self.has_ended:
            return []
        before: list[AnswerPiece] = []
        after: list[AnswerPiece] = []
        match kind:
            case "message_start" if not self.has_begun:
                self.has_begun = True
                message = _dict(frame, "message")
                self.usage = _dict(message, "usage")
                before = [AnswerStarted({**message, "content": []}, self._request_id)]
            case "content_block_start":
                self.has_content = True
                self._open[_index(frame)] = _Block(_dict(frame, "content_block"))
            case "content_block_delta":
                before = self._add(frame)
            case "content_block_stop":
                before = self._close(_index(frame))
            case "message_delta":
                self._stop |= _dict(frame, "delta")
                self.usage = merge_usage(self.usage, _dict(frame, "usage"))
            case "message_stop":
                before = self._close_all()
                after = [self.end()]
        return [*before, StreamFrame(frame), *after]

    def end(self) -> AnswerFinished:
        """Return the last piece of a complete answer."""
        self.has_ended = True
        return _finished(self._stop, self.usage)

    def _add(self, frame: JsonObject) -> list[AnswerPiece]:
        block = self._open.get(_index(frame))
        return [] if block is None else block.add(_dict(frame, "delta"))

    def _close(self, index: int) -> list[AnswerPiece]:
        block = self._open.pop(index, None)
        if block is None:
            return []
        whole = block.whole()
        self.has_called = self.has_called or whole.get("type") == "tool_use"
        return [BlockFinished(index, whole)]

    def _close_all(self) -> list[AnswerPiece]:
        """Finish all blocks; some servers omit the end of the last one."""
        return [piece for index in sorted(self._open) for piece in self._close(index)]


class _Block:
    """A content block that is being streamed."""

    def __init__(self, start: JsonObject) -> None:
        self._block = start
        self._parts: dict[str, list[str]] = {}
        self._input: list[str] = []
        self._thought_tokens = 0

    def add(self, delta: JsonObject) -> list[AnswerPiece]:
        kind = delta.get("type")
        if kind == "input_json_delta":
            self._input.append(_text(delta, "partial_json"))
        elif kind == "citations_delta":
            self._block["citations"] = [*(self._block.get("citations") or []), delta.get("citation")]
        elif isinstance(kind, str) and kind in _APPENDED:
            source, target = _APPENDED[kind]
            self._parts.setdefault(target, []).append(_text(delta, source))
            if kind == "thinking_delta":
                return self._thought(-(-len(_text(delta, source)) // CHARACTERS_PER_TOKEN))
            if kind == "signature_delta":
                return self._thought(_signed_tokens("".join(self._parts[target])) - self._thought_tokens)
        return []

    def whole(self) -> JsonObject:
        grown = {key: _text(self._block, key) + "".join(parts) for key, parts in self._parts.items()}
        block = {**self._block, **grown}
        if any(self._input):
            block["input"] = parse_tool_input("".join(self._input))
        return block

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
    """Return the pieces of an answer that was not streamed."""
    content = message.get("content")
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    return [
        AnswerStarted({**message, "content": []}, request_id, final=True),
        *(BlockFinished(index, block) for index, block in enumerate(blocks)),
        _finished(message, _dict(message, "usage")),
    ]


def _finished(message: JsonObject, usage: JsonObject) -> AnswerFinished:
    details = message.get("stop_details")
    return AnswerFinished(
        stop_reason=message.get("stop_reason"),
        stop_sequence=message.get("stop_sequence"),
        usage=usage,
        stop_details=details if isinstance(details, dict) else None,
    )


def _index(frame: JsonObject) -> int:
    index = frame.get("index")
    return index if isinstance(index, int) else 0


def _dict(value: JsonObject, key: str) -> JsonObject:
    inner = value.get(key)
    return dict(inner) if isinstance(inner, dict) else {}


def _text(value: JsonObject, key: str) -> str:
    inner = value.get(key)
    return inner if isinstance(inner, str) else ""

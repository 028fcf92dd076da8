"""Translates the chunks of a chat answer into frames of the Messages API. Pure.

Thoughts and text become frames as they come. Tool calls become frames at the end of the answer: only then is sure that
nothing more of them comes, and the server may send pieces of several in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from bridle.agent.model.api import sse
from bridle.agent.model.api.api_json import decode_json
from bridle.agent.model.api.cost import count_of
from bridle.agent.model.api.stream_pieces import JsonObject
from bridle.agent.model.chat.chat_calls import ChatCalls
from bridle.agent.model.chat.chat_errors import error_parts

_DONE = b"[DONE]"
_STOP_REASONS = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "refusal",
}
_OPENINGS = {
    "text": {"type": "text", "text": ""},
    "thinking": {"type": "thinking", "thinking": "", "signature": ""},
}


class ChatAnswer:
    """One answer: chunks in, frames out."""

    def __init__(self, model_id: str, calls: ChatCalls, message_id: str) -> None:
        self._model_id, self._calls, self._message_id = model_id, calls, message_id
        self._index = -1
        self._open: str | None = None
        self._finish_reason: str | None = None
        self._is_refusal = False
        self._usage: JsonObject = {}
        self._has_begun = self.has_ended = False

    @property
    def is_finished(self) -> bool:
        """Whether the server has said why the answer ends."""
        return self._finish_reason is not None

    def add(self, chunk: JsonObject) -> list[JsonObject]:
        """Add a chunk and return its frames."""
        if chunk.get("error"):
            kind, message = error_parts(chunk)
            return [{"type": "error", "error": {"type": kind or "api_error", "message": message}}]
        frames = self._begin(chunk)
        if isinstance(usage := chunk.get("usage"), dict):
            self._usage = messages_usage(usage)
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else []:
            if isinstance(choice, dict) and choice.get("index", 0) in (0, None):
                frames += self._add_choice(choice)
        return frames

    def end(self) -> list[JsonObject]:
        """Return the last frames: the tool calls, why it stopped, and the usage."""
        frames = [*self._begin({}), *self._close()]
        for start, arguments in self._calls.blocks():
            frames += self._start(start)
            if arguments:
                frames.append(self._delta("input_json_delta", "partial_json", arguments))
            frames += self._close()
        self.has_ended = True
        stop = {"stop_reason": self._stop_reason(), "stop_sequence": None}
        return [*frames, {"type": "message_delta", "delta": stop, "usage": self._usage}, {"type": "message_stop"}]

    def _begin(self, chunk: JsonObject) -> list[JsonObject]:
        if self._has_begun:
            return []
        self._has_begun = True
        sent_id = chunk.get("id")
        message: JsonObject = {
            "id": sent_id if isinstance(sent_id, str) and sent_id else self._message_id,
            "type": "message",
            "role": "assistant",
            "model": self._model_id,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 0, "output_tokens": 0},
        }
        return [{"type": "message_start", "message": message}]

    def _add_choice(self, choice: JsonObject) -> list[JsonObject]:
        given = choice.get("delta") or choice.get("message")
        delta: JsonObject = given if isinstance(given, dict) else {}
        frames: list[JsonObject] = []
        for kind, text in _texts(delta):
            frames += self._write(kind, text)
        if isinstance(refusal := delta.get("refusal"), str) and refusal:
            self._is_refusal = True
            frames += self._write("text", refusal)
        self._calls.add(delta.get("tool_calls"))
        if isinstance(reason := choice.get("finish_reason"), str) and reason:
            self._finish_reason = reason
        return frames

    def _write(self, kind: str, text: str) -> list[JsonObject]:
        if self._open == kind:
            return [self._delta(f"{kind}_delta", kind, text)]
        return [*self._close(), *self._start(_OPENINGS[kind]), self._delta(f"{kind}_delta", kind, text)]

    def _start(self, block: JsonObject) -> list[JsonObject]:
        self._index += 1
        self._open = block["type"]
        return [{"type": "content_block_start", "index": self._index, "content_block": dict(block)}]

    def _delta(self, kind: str, key: str, text: str) -> JsonObject:
        return {"type": "content_block_delta", "index": self._index, "delta": {"type": kind, key: text}}

    def _close(self) -> list[JsonObject]:
        if self._open is None:
            return []
        self._open = None
        return [{"type": "content_block_stop", "index": self._index}]

    def _stop_reason(self) -> str:
        if self._is_refusal:
            return "refusal"
        reason = _STOP_REASONS.get(self._finish_reason or "stop", "end_turn")
        # Some servers say "stop" after calls too.
        return "tool_use" if reason == "end_turn" and not self._calls.is_empty else reason


class ChatReader:
    """The bytes of a stream in, frames of the Messages API out; it does not matter where the bytes are cut."""

    def __init__(self, answer: ChatAnswer) -> None:
        self._events = sse.Reader()
        self._answer = answer

    @property
    def has_ended(self) -> bool:
        """Whether the last frame was returned."""
        return self._answer.has_ended

    def feed(self, data: bytes) -> list[JsonObject]:
        """Add bytes and return the frames that they complete. Raises ValueError if an event is not JSON."""
        return [frame for event in self._events.feed(data) for frame in self._frames(event)]

    def finish(self) -> list[JsonObject]:
        """Return the frames at the end of the bytes; an answer without its ending has none."""
        frames = [frame for event in self._events.finish() for frame in self._frames(event)]
        # Some servers end without the last event.
        return [*frames, *self._answer.end()] if self._answer.is_finished and not self.has_ended else frames

    def _frames(self, event: bytes) -> list[JsonObject]:
        if self.has_ended:
            return []
        if event.strip() == _DONE:
            return self._answer.end()
        chunk = decode_json(event)
        if not isinstance(chunk, dict):
            raise ValueError("a chunk of the stream is not an object")
        return self._answer.add(chunk)


def make_answer(
    model_id: str, names: Mapping[str, str], used_ids: Collection[str], new_id: Callable[[], str]
) -> ChatAnswer:
    """Return an empty answer; `names` maps names of tools to those that were sent."""
    calls = ChatCalls({sent: name for name, sent in names.items()}, used_ids, new_id)
    return ChatAnswer(model_id, calls, f"msg_{new_id()}")


def messages_usage(usage: JsonObject) -> JsonObject:
    """Return the usage of a chat answer in the form of the Messages API, which counts cached tokens apart."""
    prompt = count_of(usage, "prompt_tokens")
    cached = count_of(usage.get("prompt_tokens_details"), "cached_tokens") or count_of(usage, "prompt_cache_hit_tokens")
    cached = min(cached, prompt)
    return {
        "input_tokens": prompt - cached,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": cached,
        "output_tokens": count_of(usage, "completion_tokens"),
    }


def _texts(delta: JsonObject) -> list[tuple[str, str]]:
    """Return thoughts and text of a delta, in order."""
    found: list[tuple[str, str]] = []
    # Two names for the same; a server that sends both repeats itself.
    thought = delta.get("reasoning_content") or delta.get("reasoning")
    if isinstance(thought, str):
        found.append(("thinking", thought))
    content = delta.get("content")
    if isinstance(content, str):
        found.append(("text", content))
    for part in content if isinstance(content, list) else []:
        found += _part_texts(part)
    return [(kind, text) for kind, text in found if text]


def _part_texts(part: Any) -> list[tuple[str, str]]:
    match part:
        case {"type": "text", "text": str(text)}:
            return [("text", text)]
        case {"type": "thinking", "thinking": list(inner)}:
            return [("thinking", text) for piece in inner for _, text in _part_texts(piece)]
        case {"type": "thinking", "thinking": str(text)}:
            return [("thinking", text)]
    return []

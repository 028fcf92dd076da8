"""Cursor (`cursor-agent -p --output-format stream-json`): Claude Code's events, but for tools, reasoning and parts.

With --stream-partial-output a message comes in parts and is then repeated whole, once before a tool call and once
more at the end: parts have a `timestamp_ms` and no `model_call_id`, repetitions lack the one or have the other.
Older versions mark nothing, so words that only repeat those right before them are a repetition too.
A failed run prints no result. Results name no tokens, or name them in a form of their own.
"""

from __future__ import annotations

from typing import Any

import msgspec

from bridle.wire.dialects import build_events
from bridle.wire.dialects.cursor_tools import Call, call_of, denied, output_of
from bridle.wire.dialects.partial_text import PartialText
from bridle.wire.dialects.tolerant_fields import mapping, text
from bridle.wire.events.blocks import Text
from bridle.wire.events.decode import Decoder
from bridle.wire.events.decode_tolerant import token_count
from bridle.wire.events.events import Assistant, Event, Ignored, Malformed, Result, Skipped, Unknown, Usage
from bridle.wire.events.lines import LINE_LIMIT_BYTES
from bridle.wire.events.loose_json import from_json
from bridle.wire.events.system import Init


class Cursor:
    """Reads one `cursor-agent --output-format stream-json` run."""

    def __init__(self, *, limit_bytes: int = LINE_LIMIT_BYTES) -> None:
        self._decoder = Decoder(limit_bytes=limit_bytes)
        self._partial = PartialText()
        self._thinking = PartialText("thinking")
        self._session: str | None = None
        self._held: list[Assistant] = []
        self._held_text = ""
        self._all_parts = self._last_whole = ""
        self._running: set[str] = set()
        self._unnamed = 0
        self._denials: list[dict[str, Any]] = []

    def feed(self, chunk: bytes) -> list[Event]:
        """Take the next bytes; return the events that they complete."""
        return [made for event in self._decoder.feed(chunk) for made in self._taken(event)]

    def end(self) -> list[Event]:
        """The bytes are over: return what is left."""
        last = [made for event in self._decoder.end() for made in self._taken(event)]
        return last + self._close()

    def _taken(self, event: Event) -> list[Event]:
        try:
            return self._take(event)
        except RecursionError:  # it could be read, but parts of it cannot be written again
            return [event]

    def _take(self, event: Event) -> list[Event]:
        if isinstance(event, Malformed | Ignored | Skipped):
            return [event]  # words that slipped into the stream end no message
        if isinstance(event, Init):
            self._session = event.session_id or self._session
        if isinstance(event, Assistant):
            return self._assistant(event)
        if isinstance(event, Result):
            return [*self._close(), self._result(event)]
        if isinstance(event, Unknown) and event.kind == "thinking":
            return self._thought(event)
        if isinstance(event, Unknown) and event.kind == "tool_call":
            return [*self._close(), *self._tool(event)]
        return [event] if isinstance(event, Unknown) else [*self._close(), event]

    def _assistant(self, event: Assistant) -> list[Event]:
        words, session = _words(event), self._session
        if words is None:
            return [*self._close(), event]
        before: list[Event] = list(self._thinking.close(session=session))
        marks = from_json(event.raw)
        marks = marks if isinstance(marks, dict) else {}
        if marks.get("timestamp_ms") is not None and marks.get("model_call_id") is None:
            self._all_parts += words
            return [*before, *self._unhold(), *self._partial.add(words, event.raw, session=session)]
        if self._partial or self._all_parts:
            return [*before, *self._whole(words, event)]
        if self._held and words == self._held_text:
            return [*before, *self._as_parts(), event]
        self._held.append(event)
        self._held_text += words
        return before

    def _whole(self, words: str, event: Assistant) -> list[Event]:
        """A message that is not a part, in a run that prints parts: a repetition, or words that had no parts."""
        before = self._close()
        if words in (self._last_whole, self._all_parts):
            return [*before, build_events.message_stop(event.raw, session=self._session)]
        return [*before, event]

    def _as_parts(self) -> list[Event]:
        """What was held turned out to be the parts of the message that follows."""
        partial, session = PartialText(), self._session
        parts = [(_words(event) or "", event.raw) for event in self._unhold() if isinstance(event, Assistant)]
        return [piece for words, raw in parts for piece in partial.add(words, raw, session=session)]

    def _unhold(self) -> list[Event]:
        held, self._held, self._held_text = self._held, [], ""
        return list(held)

    def _close(self) -> list[Event]:
        """Another kind of event: the message and the reasoning before it are whole."""
        self._last_whole = self._partial.text if self._partial else self._last_whole
        whole = [*self._thinking.close(session=self._session), *self._partial.close(session=self._session)]
        return [*self._unhold(), *whole]

    def _thought(self, event: Unknown) -> list[Event]:
        session, words = self._session, text(event.value, "text")
        if event.value.get("subtype") == "delta" and words is not None:
            before = self._close() if self._partial or self._held else []
            return [*before, *self._thinking.add(words, event.raw, session=session)]
        if event.value.get("subtype") == "completed":
            return [*self._thinking.close(session=session), build_events.message_stop(event.raw, session=session)]
        return [event]

    def _tool(self, event: Unknown) -> list[Event]:
        """The call when it starts, its result when it is completed; both where the start was not printed."""
        value, session = event.value, self._session
        call, call_id = call_of(mapping(value, "tool_call")), text(value, "call_id")
        if call is None or value.get("subtype") not in ("started", "completed"):
            return [event]
        if value["subtype"] == "started":
            if call_id is None or call_id in self._running:
                return [build_events.ignored_line(value, event.raw)]
            self._running.add(call_id)
            return [build_events.tool_call(call_id, call.name, call.arguments, event.raw, session=session)]
        begun: list[Event] = []
        if call_id is None or call_id not in self._running:
            call_id = call_id or self._new_id()
            begun.append(build_events.tool_call(call_id, call.name, call.arguments, event.raw, session=session))
        self._running.discard(call_id)
        return [*begun, self._tool_result(call, call_id, event.raw)]

    def _tool_result(self, call: Call, call_id: str, raw: bytes) -> Event:
        if denied(call.result):
            refusal = {"tool_name": call.name, "tool_use_id": call_id, "tool_input": call.arguments}
            self._denials.append(refusal)
        is_error = "success" not in call.result
        return build_events.tool_answer(call_id, output_of(call.result), raw, session=self._session, is_error=is_error)

    def _result(self, event: Result) -> Result:
        self._all_parts = self._last_whole = ""
        changes: dict[str, Any] = {}
        if self._denials and event.permission_denials is None:
            changes["permission_denials"], self._denials = self._denials, []
        usage = _usage(event.raw)
        if usage is not None:
            changes["usage"] = usage
        return msgspec.structs.replace(event, **changes)

    def _new_id(self) -> str:
        self._unnamed += 1
        return f"unnamed_{self._unnamed}"


def _words(event: Assistant) -> str | None:
    """The text of a message that is nothing but text."""
    content = event.message.content
    if isinstance(content, str) or not content or event.error is not None:
        return None
    texts = [block.text for block in content if isinstance(block, Text)]
    return "".join(texts) if len(texts) == len(content) else None


def _usage(raw: bytes) -> Usage | None:
    """Tokens in Cursor's own spelling, which its documents do not name."""
    value = from_json(raw)
    counts = mapping(value, "usage") if isinstance(value, dict) else {}
    if "inputTokens" not in counts and "outputTokens" not in counts:
        return None
    return Usage(
        input_tokens=token_count(counts.get("inputTokens")),
        output_tokens=token_count(counts.get("outputTokens")),
        cache_read_input_tokens=token_count(counts.get("cacheReadTokens")),
        cache_creation_input_tokens=token_count(counts.get("cacheWriteTokens")),
    )

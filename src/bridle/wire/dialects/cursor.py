"""Cursor (`cursor-agent -p --output-format stream-json`): Claude Code's events except for tools, reasoning and deltas.

With --stream-partial-output a message arrives in deltas and is then repeated whole, once before a tool call and once
at the end: deltas have a `timestamp_ms` and no `model_call_id`, repetitions lack the one or have the other.
Older versions mark nothing, so a text that equals the deltas right before it is a repetition too.
A failed run prints no result. Results have no tokens, or have them under other names.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, Struct, field

from bridle.wire.dialects import build_events
from bridle.wire.dialects.cursor_tools import ToolCall, is_denied, output_of, parse_tool_call
from bridle.wire.dialects.partial_text import PartialText
from bridle.wire.events.blocks import Text
from bridle.wire.events.decode import Decoder
from bridle.wire.events.decode_tolerant import convert, struct_decoder, token_count
from bridle.wire.events.events import Assistant, Event, Ignored, Malformed, Result, Skipped, Unknown, Usage
from bridle.wire.events.lines import LINE_LIMIT_BYTES
from bridle.wire.events.loose_json import JsonObject
from bridle.wire.events.system import Init
from bridle.wire.record.denials import denial_entries


class Line(Struct, frozen=True):
    """A line of reasoning or of a tool call, which Claude Code does not print."""

    subtype: str | None = None
    text: str | None = None
    call_id: str | None = None
    tool_call: JsonObject = {}


class DeltaMarks(Struct, frozen=True):
    """The fields by which a delta differs from a whole message."""

    timestamp_ms: Any = None
    model_call_id: Any = None


class Counts(Struct, frozen=True):
    """The tokens of a result, undocumented by Cursor."""

    input: Any = field(default=UNSET, name="inputTokens")
    output: Any = field(default=UNSET, name="outputTokens")
    cache_read: Any = field(default=None, name="cacheReadTokens")
    cache_write: Any = field(default=None, name="cacheWriteTokens")


class ResultLine(Struct, frozen=True):
    """The fields of a result that Claude Code does not print."""

    usage: Counts = Counts()


_decode_marks = struct_decoder(DeltaMarks)
_decode_result = struct_decoder(ResultLine)
_STRAY_TEXT = (Malformed, Ignored, Skipped)


class Cursor:
    """A decoder of one `cursor-agent --output-format stream-json` run."""

    def __init__(self, *, limit_bytes: int = LINE_LIMIT_BYTES) -> None:
        self._decoder = Decoder(limit_bytes=limit_bytes)
        self._partial = PartialText()
        self._thinking = PartialText("thinking")
        self._session: str | None = None
        self._held: list[Assistant] = []
        self._held_text = ""
        self._all_deltas = self._last_whole = ""
        self._running: set[str] = set()
        self._unnamed = 0
        self._denials: list[JsonObject] = []

    def feed(self, chunk: bytes) -> list[Event]:
        """Add bytes; return the events that they complete."""
        return [built for event in self._decoder.feed(chunk) for built in self._convert_safely(event)]

    def end(self) -> list[Event]:
        """Return the events that were still incomplete."""
        last = [built for event in self._decoder.end() for built in self._convert_safely(event)]
        return last + self._close()

    def _convert_safely(self, event: Event) -> list[Event]:
        try:
            return self._convert(event)
        except RecursionError:  # decoded, but too deep to encode a part of it again
            return [event]

    def _convert(self, event: Event) -> list[Event]:
        if isinstance(event, _STRAY_TEXT):
            return [event]  # stray text does not end a message
        if isinstance(event, Init):
            self._session = event.session_id or self._session
        if isinstance(event, Assistant):
            return self._assistant(event)
        if isinstance(event, Result):
            return [*self._close(), self._result(event)]
        if isinstance(event, Unknown) and event.kind == "thinking":
            return self._reasoning(event)
        if isinstance(event, Unknown) and event.kind == "tool_call":
            return [*self._close(), *self._tool(event)]
        return [event] if isinstance(event, Unknown) else [*self._close(), event]

    def _assistant(self, event: Assistant) -> list[Event]:
        text, session = _only_text(event), self._session
        if text is None:
            return [*self._close(), event]
        before: list[Event] = list(self._thinking.close(session=session))
        marks = _decode_marks(event.raw)
        if marks.timestamp_ms is not None and marks.model_call_id is None:
            self._all_deltas += text
            return [*before, *self._release_held(), *self._partial.add(text, event.raw, session=session)]
        if self._partial or self._all_deltas:
            return [*before, *self._whole(text, event)]
        if self._held and text == self._held_text:
            return [*before, *self._as_deltas(), event]
        self._held.append(event)
        self._held_text += text
        return before

    def _whole(self, text: str, event: Assistant) -> list[Event]:
        """Return the events of a whole message in a run with deltas: a repetition, or a text without deltas."""
        before = self._close()
        if text in (self._last_whole, self._all_deltas):
            return [*before, build_events.message_stop(event.raw, session=self._session)]
        return [*before, event]

    def _as_deltas(self) -> list[Event]:
        """Return the held messages as the deltas of the message that repeats them."""
        partial, session = PartialText(), self._session
        held = [(_only_text(event) or "", event.raw) for event in self._release_held() if isinstance(event, Assistant)]
        return [delta for text, raw in held for delta in partial.add(text, raw, session=session)]

    def _release_held(self) -> list[Event]:
        held, self._held, self._held_text = self._held, [], ""
        return list(held)

    def _close(self) -> list[Event]:
        """Return the message and the reasoning that another kind of event ends."""
        self._last_whole = self._partial.text if self._partial else self._last_whole
        whole = [*self._thinking.close(session=self._session), *self._partial.close(session=self._session)]
        return [*self._release_held(), *whole]

    def _reasoning(self, event: Unknown) -> list[Event]:
        session, line = self._session, convert(event.value, Line)
        if line.subtype == "delta" and line.text is not None:
            before = self._close() if self._partial or self._held else []
            return [*before, *self._thinking.add(line.text, event.raw, session=session)]
        if line.subtype == "completed":
            return [*self._thinking.close(session=session), build_events.message_stop(event.raw, session=session)]
        return [event]

    def _tool(self, event: Unknown) -> list[Event]:
        """Return the call when it starts, its result when it completes; both if the start was not printed."""
        line, session = convert(event.value, Line), self._session
        call, call_id = parse_tool_call(line.tool_call), line.call_id
        if call is None or line.subtype not in ("started", "completed"):
            return [event]
        if line.subtype == "started":
            if call_id is None or call_id in self._running:
                return [build_events.ignored_line(event.value, event.raw)]
            self._running.add(call_id)
            return [build_events.tool_call(call_id, call.name, call.arguments, event.raw, session=session)]
        started: list[Event] = []
        if call_id is None or call_id not in self._running:
            call_id = call_id or self._new_id()
            started.append(build_events.tool_call(call_id, call.name, call.arguments, event.raw, session=session))
        self._running.discard(call_id)
        return [*started, self._tool_result(call, call_id, event.raw)]

    def _tool_result(self, call: ToolCall, call_id: str, raw: bytes) -> Event:
        if is_denied(call.result):
            refusal = {"tool_name": call.name, "tool_use_id": call_id, "tool_input": call.arguments}
            self._denials.append(refusal)
        is_error = "success" not in call.result
        return build_events.tool_answer(call_id, output_of(call.result), raw, session=self._session, is_error=is_error)

    def _result(self, event: Result) -> Result:
        self._all_deltas = self._last_whole = ""
        changes: JsonObject = {}
        if self._denials:
            listed = denial_entries(event.permission_denials)
            changes["permission_denials"], self._denials = [*listed, *self._denials], []
        usage = _usage(event.raw)
        if usage is not None:
            changes["usage"] = usage
        return msgspec.structs.replace(event, **changes)

    def _new_id(self) -> str:
        self._unnamed += 1
        return f"unnamed_{self._unnamed}"


def _only_text(event: Assistant) -> str | None:
    """Return the text of a message that has only text blocks."""
    content = event.message.content
    if isinstance(content, str) or not content or event.error is not None:
        return None
    texts = [block.text for block in content if isinstance(block, Text)]
    return "".join(texts) if len(texts) == len(content) else None


def _usage(raw: bytes) -> Usage | None:
    """Return the tokens that a result has under Cursor's own names."""
    counts = _decode_result(raw).usage
    if counts.input is UNSET and counts.output is UNSET:
        return None
    return Usage(
        input_tokens=token_count(counts.input),
        output_tokens=token_count(counts.output),
        cache_read_input_tokens=token_count(counts.cache_read),
        cache_creation_input_tokens=token_count(counts.cache_write),
    )

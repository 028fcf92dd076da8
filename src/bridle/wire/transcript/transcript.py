"""The conversation: what a person sees of an agent run, built one event at a time.

It can be read at any moment. Each item is bounded, so memory grows with the number of things that happened and
not with their size; the whole of everything is in the log. Nothing raises, whatever the events hold.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from bridle.wire.events.blocks import AnyBlock, Image, Text, Thinking, ToolResult, ToolUse, UnknownBlock, to_raw_text
from bridle.wire.events.events import SYNTHETIC_MODEL, Assistant, Event, Result, StreamEvent, User
from bridle.wire.mask import Mask
from bridle.wire.record.refusals import INTERRUPTED_PREFIX
from bridle.wire.transcript.clip import Clip
from bridle.wire.transcript.footer import footer_fields
from bridle.wire.transcript.item_board import ItemBoard
from bridle.wire.transcript.items import AnyItem, Footer, Notice, NoticeKind, Speaker, Thought, Words
from bridle.wire.transcript.partials import Partials
from bridle.wire.transcript.program_events import ProgramEvents
from bridle.wire.transcript.tool_calls import ToolCalls

# Claude Code itself cuts the output of commands at 30,000 characters and of files at 256 KB: nearly every output
# is kept whole, and an agent that prints without end cannot fill our memory.
KEPT_CHARACTERS = 100_000
STRUCTURED_TOOL = "StructuredOutput"
# A real message has one block or a few, a replayed one some dozens. Each is an item, and a block can be one byte.
SHOWN_BLOCKS = 1000


class Transcript:
    """A conversation that grows by events."""

    def __init__(self, *, mask: Mask | None = None, kept_characters: int = KEPT_CHARACTERS) -> None:
        self._board = ItemBoard()
        self._clip = Clip(mask or Mask())
        self._limit = kept_characters
        self._partials = Partials(self._board, kept_characters)
        self._calls = ToolCalls(self._board, self._clip, kept_characters)
        self._news = ProgramEvents(self._board, self._calls, self._clip, kept_characters)
        self._said: set[int] = set()
        self._answer: tuple[str | None, str] = (None, "")
        self._fold: dict[type[Event], Callable[[Any, float | None], None]] = {
            Assistant: self._assistant,
            User: self._user,
            Result: self._result,
            StreamEvent: self._partials.add,
            **self._news.fold,
        }

    def add(self, event: Event, at: float | None = None) -> tuple[int, ...]:
        """Take in one event and the second of its arrival; give the ids of the items that changed by it.

        An id whose item is gone stood for an answer that was cut off and will be said again.
        """
        fold = self._fold.get(type(event))
        if fold is not None:
            fold(event, at if at is not None and math.isfinite(at) else None)
        return self._board.take_changed()

    def finish(self) -> tuple[int, ...]:
        """The process has ended: what still runs was interrupted. Give the ids of the items that changed."""
        self._partials.finish()
        self._calls.finish()
        self._news.finish()
        return self._board.take_changed()

    def item(self, item_id: int) -> AnyItem | None:
        """The item with this id as it is now."""
        return self._board.item(item_id)

    def items(self, thread: str | None = None, *, start: int = 0) -> tuple[AnyItem, ...]:
        """The items of the main thread, or of the sub-agent with this call's id, from this place on."""
        return self._board.items(thread, start)

    @property
    def threads(self) -> tuple[str | None, ...]:
        """The ids of the threads: None for the agent itself, then one for each sub-agent that did something."""
        return self._board.threads

    @property
    def footers(self) -> tuple[Footer, ...]:
        """The ends of the turns so far."""
        return self._board.footers()

    def _assistant(self, event: Assistant, at: float | None) -> None:
        thread = event.parent_tool_use_id
        if thread:
            self._calls.describe(thread, event.subagent_type, event.task_description, None, at)
        for block in self._shown(event, at):
            match block:
                case Text() if event.is_failure_notice:
                    self._news.failure(event.error or "", block.text, thread, at)
                    self._note_said(event, block.text)
                case Text():
                    self._say(Words, block.text, event, at, speaker=_speaker(event))
                    self._note_said(event, block.text)
                case Thinking():
                    self._say(Thought, block.thinking, event, at)
                case ToolUse():
                    self._calls.use(block, event, at)
                    if block.name == STRUCTURED_TOOL:  # its input is what the result says again
                        self._note_said(event, bytes(block.input).decode("utf-8", "replace"))
                case _:
                    self._other_block(block, event, at)

    def _shown(self, event: Assistant | User, at: float | None) -> Iterator[AnyBlock]:
        """The blocks of a message; where they are beyond all measure the first ones, and a word on the others."""
        blocks = event.message.blocks
        yield from blocks[:SHOWN_BLOCKS]
        if len(blocks) > SHOWN_BLOCKS:
            more = f"{len(blocks) - SHOWN_BLOCKS} more blocks in one message were passed over"
            self._news.failure("message too long", more, event.parent_tool_use_id, at)

    def _say(
        self, kind: type[Words | Thought], text: str, event: Assistant | User, at: float | None, **fields: Any
    ) -> None:
        """Put finished words where the live ones stood, or at the end; nothing at all needs no place."""
        thread = event.parent_tool_use_id
        clipped = self._clip(text, self._limit)
        fields |= {"text": clipped.text, "omitted_characters": clipped.omitted_characters}
        live = self._partials.take(kind, thread) if isinstance(event, Assistant) else None
        if live is not None:
            self._board.change(live, live=False, message_id=event.message.id, **fields)
        elif text.strip():
            self._board.put(kind, thread, at=at, message_id=event.message.id, **fields)

    def _note_said(self, event: Assistant, text: str) -> None:
        """Remember what the reader has seen, so that a result does not say it again."""
        if event.parent_tool_use_id:
            return
        message_id, before = self._answer
        together = before + text if message_id == event.message.id and message_id is not None else text
        self._answer = (event.message.id, together[-self._limit :])
        self._said.update((_mark(text), _mark(together)))

    def _user(self, event: User, at: float | None) -> None:
        thread = event.parent_tool_use_id
        if thread:
            self._calls.describe(thread, event.subagent_type, event.task_description, _first_text(event), at)
        blocks = event.message.blocks
        alone = sum(isinstance(block, ToolResult) for block in blocks) == 1
        for block in self._shown(event, at):
            match block:
                case ToolResult():
                    self._calls.result(block, event, at, alone=alone)
                case Text():
                    self._user_text(block.text, event, at)
                case _:
                    self._other_block(block, event, at)

    def _user_text(self, text: str, event: User, at: float | None) -> None:
        thread = event.parent_tool_use_id
        if text.startswith(INTERRUPTED_PREFIX):
            self._calls.interrupted(thread=thread or None)
            self._board.put(Notice, thread, at=at, kind=NoticeKind.INTERRUPT, text="interrupted by the user")
        elif not thread or not self._calls.is_prompt(thread, text):
            by_program = event.is_synthetic is True or text.startswith("<local-command-")
            speaker = Speaker.PROGRAM if by_program else Speaker.USER
            self._say(Words, text, event, at, speaker=speaker)

    def _other_block(self, block: AnyBlock, event: Assistant | User, at: float | None) -> None:
        if isinstance(block, Image):
            speaker = Speaker.AGENT if isinstance(event, Assistant) else Speaker.USER
            self._board.put(Words, event.parent_tool_use_id, at=at, text="[image]", speaker=speaker)
        elif isinstance(block, UnknownBlock):
            name = f"block {block.kind}" if block.kind else "block"
            self._news.chip(name, to_raw_text(block.value), event.parent_tool_use_id, at)

    def _result(self, event: Result, at: float | None) -> None:
        fields = footer_fields(event, self._clip, self._limit)
        if _mark(fields["text"]) in self._said:
            fields["text"] = ""
        if (event.terminal_reason or "").startswith("aborted"):
            self._calls.interrupted(thread=None)
        denied = {denial.call_id for denial in fields["denials"]}
        self._calls.denied(denied, is_complete=isinstance(event.permission_denials, list))
        self._board.put(Footer, at=at, earlier_turns=self._board.footer_count, **fields)


def _speaker(event: Assistant) -> Speaker:
    return Speaker.PROGRAM if event.message.model == SYNTHETIC_MODEL else Speaker.AGENT


def _first_text(event: User) -> str | None:
    return next((block.text for block in event.message.blocks if isinstance(block, Text)), None)


def _mark(text: str) -> int:
    return hash(text.strip())

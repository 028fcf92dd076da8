"""The conversation of an agent run as a user sees it, built one event at a time.

It can be read at any time. Each item is bounded, so memory grows with the number of items and not with their size;
the log has everything. Nothing raises, whatever the events contain.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from msgspec import Raw
from msgspec.structs import replace

from bridle.wire.events.blocks import AnyBlock, Image, Text, Thinking, ToolResult, ToolUse, UnknownBlock, to_raw_text
from bridle.wire.events.events import SYNTHETIC_MODEL, Assistant, Event, Message, Result, StreamEvent, User
from bridle.wire.events.loose_json import from_json
from bridle.wire.events.system import TaskProgress
from bridle.wire.mask import Mask
from bridle.wire.record.outcome import Ending
from bridle.wire.record.refusals import INTERRUPTED_PREFIX
from bridle.wire.record.result_texts import result_text
from bridle.wire.transcript.clip import Clip
from bridle.wire.transcript.cut_json import complete_json
from bridle.wire.transcript.footer import footer_of
from bridle.wire.transcript.images import IMAGE_TEXT, image_refs
from bridle.wire.transcript.inferred_threads import InferredThreads
from bridle.wire.transcript.item_board import ItemBoard
from bridle.wire.transcript.items import AnyItem, Call, Footer, Notice, NoticeKind, Speaker, TextItem, Thought
from bridle.wire.transcript.partials import Partials
from bridle.wire.transcript.process_end import process_end
from bridle.wire.transcript.program_events import ProgramItems
from bridle.wire.transcript.tool_calls import ToolCallItems

# Claude Code itself cuts the output of commands at 30,000 characters and of files at 256 KB: nearly every output
# is kept whole, and an agent that prints endlessly cannot fill the memory.
KEPT_CHARACTERS = 100_000
STRUCTURED_TOOL = "StructuredOutput"
# A real message has one block or a few, a replayed one some dozens. Each becomes an item, and a block can be one byte.
SHOWN_BLOCKS = 1000


class Transcript:
    """A conversation that grows by events."""

    def __init__(self, *, mask: Mask | None = None, kept_characters: int = KEPT_CHARACTERS) -> None:
        self._board = ItemBoard()
        self._clip = Clip(mask or Mask())
        self._limit = kept_characters
        self._partials = Partials(self._board, kept_characters)
        self._calls = ToolCallItems(self._board, self._clip, kept_characters)
        self._program = ProgramItems(self._board, self._calls, self._clip, kept_characters)
        self._inferred = InferredThreads()
        self._shown_texts: set[int] = set()
        self._has_text = False
        self._answer: tuple[str | None, str] = (None, "")
        self._is_turn_open = False
        self._fold: dict[type[Event], Callable[[Any, float | None], None]] = {
            Assistant: self._assistant,
            User: self._user,
            Result: self._result,
            StreamEvent: self._partials.add,
            **self._program.fold,
            TaskProgress: self._progress,
        }

    def add(self, event: Event, at: float | None = None) -> tuple[int, ...]:
        """Add one event and its arrival time in seconds; return the ids of the items that it changed.

        An id without an item belonged to an answer that was cut off and will be repeated.
        """
        fold = self._fold.get(type(event))
        if fold is not None:
            fold(event, at if at is not None and math.isfinite(at) else None)
        return self._board.take_changed()

    def finish(self, ending: Ending | None = None) -> tuple[int, ...]:
        """Mark what still runs as interrupted, as the process has ended; return the ids of the changed items.

        `ending` is how it ended, where that is known.
        """
        self._partials.finish()
        for call in self._partials.unfinished_calls():
            if call.call_id and self._board.call(call.call_id) is None:
                event = Assistant(message=Message(id=call.message_id), parent_tool_use_id=call.thread)
                arguments = Raw(complete_json(call.input).encode("utf-8", "replace"))
                self._calls.use(ToolUse(id=call.call_id, name=call.name, input=arguments), event, None)
        self._calls.finish()
        self._program.finish()
        if ending is not None:
            results, is_turn_open = self._board.footer_count, self._is_turn_open
            end = process_end(ending, self._clip, self._limit, results=results, is_turn_open=is_turn_open)
            if end is not None:
                self._board.add(end)
        return self._board.take_changed()

    def item(self, item_id: int) -> AnyItem | None:
        """Return the item with this id as it is now."""
        return self._board.item(item_id)

    def call(self, call_id: str) -> Call | None:
        """Return the tool call with this id."""
        return self._board.call(call_id)

    def items(self, thread: str | None = None, *, start: int = 0) -> tuple[AnyItem, ...]:
        """Return the items of the main thread, or of a sub-agent's by its call's id, from an index on."""
        return self._board.items(thread, start)

    def item_ids(self, thread: str | None = None) -> Sequence[int]:
        """Return the ids of a thread's items in order; they increase. The caller must not keep it."""
        return self._board.ids(thread)

    @property
    def threads(self) -> tuple[str | None, ...]:
        """The ids of the threads: None for the main agent, then one for each active sub-agent."""
        return self._board.threads

    @property
    def footers(self) -> tuple[Footer, ...]:
        """The footers of the finished turns."""
        return self._board.footers()

    def _assistant(self, event: Assistant, at: float | None) -> None:
        named, event = event.parent_tool_use_id, self._inferred.place_answer(event)
        if event.parent_tool_use_id and not named:
            self._calls.mark_inferred(event.parent_tool_use_id)
        thread = event.parent_tool_use_id
        if thread:
            self._calls.describe(thread, event.subagent_type, event.task_description, None, at)
        else:
            self._is_turn_open = True
        for block in self._limited_blocks(event, at):
            match block:
                case Text() if event.is_failure_notice:
                    self._program.failure(event.error or "", block.text, thread, at)
                    self._note_text(event, block.text)
                case Text():
                    self._put_text(TextItem, block.text, event, at, speaker=_speaker(event))
                    self._note_text(event, block.text)
                case Thinking():
                    self._put_text(Thought, block.thinking, event, at)
                case ToolUse():
                    self._calls.use(block, event, at)
                    if block.name == STRUCTURED_TOOL:  # the result repeats its input
                        self._note_text(event, bytes(block.input).decode("utf-8", "replace"))
                case _:
                    self._other_block(block, event, at)

    def _progress(self, event: TaskProgress, at: float | None) -> None:
        self._inferred.note_progress(event)
        self._program.fold[TaskProgress](event, at)

    def _limited_blocks(self, event: Assistant | User, at: float | None) -> Iterator[AnyBlock]:
        """Yield the blocks of a message; of absurdly many the first ones, with an error for the rest."""
        blocks = event.message.blocks
        if not blocks and event.raw and _has_odd_message(from_json(event.raw)):
            kind = "assistant" if isinstance(event, Assistant) else "user"
            self._program.unknown(kind, event.raw.decode("utf-8", "replace"), event.parent_tool_use_id, at)
        yield from blocks[:SHOWN_BLOCKS]
        if len(blocks) > SHOWN_BLOCKS:
            more = f"{len(blocks) - SHOWN_BLOCKS} more blocks of one message were skipped"
            self._program.failure("message too long", more, event.parent_tool_use_id, at)

    def _put_text(
        self, kind: type[TextItem | Thought], text: str, event: Assistant | User, at: float | None, **fields: Any
    ) -> None:
        """Replace the live item with a finished text, or add it at the end; ignore a blank text."""
        thread = event.parent_tool_use_id
        clipped = self._clip(text, self._limit)
        fields |= {"text": clipped.text, "omitted_characters": clipped.omitted_characters}
        live = self._partials.take(kind, thread) if isinstance(event, Assistant) else None
        extended = self._text_before(thread, live) if fields.get("speaker") is Speaker.AGENT else None
        if extended is not None and text.strip():
            self._extend_text(extended, text, event.message.id)
            if live is not None:
                self._board.remove(live)
        elif live is not None:
            self._board.change(live, live=False, message_id=event.message.id, **fields)
        elif text.strip():
            self._board.put(kind, thread, at=at, message_id=event.message.id, **fields)

    def _text_before(self, thread: str | None, live: int | None) -> TextItem | None:
        """Return the agent's text that is directly before the next item, or before the live one."""
        item = self._board.last(thread) if live is None else self._board.before(live)
        if not isinstance(item, TextItem) or item.speaker is not Speaker.AGENT:
            return None
        return None if item.live or item.images else item

    def _extend_text(self, item: TextItem, text: str, message_id: str | None) -> None:
        """Append a text to the one before it: blocks of one message as they are, those of two as paragraphs."""
        joined = text if message_id == item.message_id else f"\n\n{text}"
        if item.omitted_characters:
            self._board.change(item.id, omitted_characters=item.omitted_characters + len(joined))
        else:
            clipped = self._clip(item.text + joined, self._limit)
            self._board.change(item.id, text=clipped.text, omitted_characters=clipped.omitted_characters)

    def _note_text(self, event: Assistant, text: str) -> None:
        """Remember a shown text, so that the footer does not repeat it."""
        if event.parent_tool_use_id:
            return
        self._has_text = self._has_text or bool(text.strip())
        message_id, before = self._answer
        whole = before + text if message_id == event.message.id and message_id is not None else text
        self._answer = (event.message.id, whole[-self._limit :])
        self._shown_texts.update((_text_hash(text), _text_hash(whole)))

    def _user(self, event: User, at: float | None) -> None:
        event = self._inferred.place_result(event)
        thread = event.parent_tool_use_id
        if thread:
            self._calls.describe(thread, event.subagent_type, event.task_description, _first_text(event), at)
        blocks = event.message.blocks
        alone = sum(isinstance(block, ToolResult) for block in blocks) == 1
        for block in self._limited_blocks(event, at):
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
            self._inferred.end_turn()
            self._board.put(Notice, thread, at=at, kind=NoticeKind.INTERRUPT, text="interrupted by the user")
        elif not thread or not self._calls.is_prompt(thread, text):
            by_program = event.is_synthetic is True or text.startswith("<local-command-")
            speaker = Speaker.PROGRAM if by_program else Speaker.USER
            self._put_text(TextItem, text, event, at, speaker=speaker)

    def _other_block(self, block: AnyBlock, event: Assistant | User, at: float | None) -> None:
        if isinstance(block, Image):
            speaker = Speaker.AGENT if isinstance(event, Assistant) else Speaker.USER
            fields = {"text": IMAGE_TEXT, "speaker": speaker, "images": image_refs(block)}
            self._board.put(TextItem, event.parent_tool_use_id, at=at, **fields)
        elif isinstance(block, UnknownBlock):
            name = f"block {block.kind}" if block.kind else "block"
            self._program.unknown(name, to_raw_text(block.value), event.parent_tool_use_id, at)

    def _result(self, event: Result, at: float | None) -> None:
        self._is_turn_open = False
        self._inferred.end_turn()
        footer = footer_of(event, self._clip, self._limit)
        if event.result is not None and result_text(event.result) is None:
            self._program.unknown("result", to_raw_text(event.result), None, at)
        is_shown = _text_hash(footer.text) in self._shown_texts
        if (event.terminal_reason or "").startswith("aborted"):
            self._calls.interrupted(thread=None)
        denied = {denial.call_id for denial in footer.denials}
        is_complete = isinstance(event.permission_denials, list) and "" not in denied
        self._calls.denied(denied, is_complete=is_complete)
        if not footer.failed:
            self._calls.turn_succeeded()
        earlier, text = self._board.footer_count, "" if is_shown else footer.text
        is_empty = footer.is_empty and not self._has_text
        self._board.add(replace(footer, at=at, text=text, is_empty=is_empty, earlier_turns=earlier))


def _speaker(event: Assistant) -> Speaker:
    return Speaker.PROGRAM if event.message.model == SYNTHETIC_MODEL else Speaker.AGENT


def _has_odd_message(line: Any) -> bool:
    """Return whether a line is a message in a form that is not known; lines of other dialects are read elsewhere."""
    match line:
        case {"message": {"content": []}}:
            return False
        case {"type": "assistant" | "user"}:
            return True
    return False


def _first_text(event: User) -> str | None:
    return next((block.text for block in event.message.blocks if isinstance(block, Text)), None)


def _text_hash(text: str) -> int:
    return hash(text.strip())

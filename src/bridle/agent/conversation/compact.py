"""Compacts the conversation: asks for a summary, puts it into the message log, and prints the events."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import Any, cast

import msgspec
from msgspec import UNSET, Struct

from bridle.agent.compaction.compact_history import TOO_FEW, Compacted, Compactor, NotCompacted, Trigger, record
from bridle.agent.compaction.window import Window, plan, used
from bridle.agent.conversation.message_log import MessageLog
from bridle.agent.model.api.models import Model
from bridle.agent.model.api.question import Block, Message, Question, Usage
from bridle.agent.model.api.stream_pieces import (
    AnswerFinished,
    AnswerPiece,
    AnswerRestarted,
    AnswerStarted,
    BlockFinished,
    ModelClient,
)
from bridle.agent.sessions.api_messages import AnswerHead, block_type
from bridle.agent.sessions.transcript_entries import CompactMetadata
from bridle.agent.sessions.valid_history import valid_history
from bridle.agent.stdio.output_events import CompactBoundary, Status, User, UserMessage

CountUsage = Callable[[str, Usage], None]
"""Counts the usage (second) of an answer of a model (first)."""

# A summary of fewer messages would not be shorter.
MIN_MESSAGES = 2

# The figures of a compaction in the order of the event.
EVENT_FIELDS = (
    "trigger",
    "pre_tokens",
    "post_tokens",
    "cumulative_dropped_tokens",
    "duration_ms",
    "preserved_segment",
    "preserved_messages",
)


class LogCompaction:
    """Keeps the message log within the context window of the model."""

    def __init__(self, log: MessageLog, compactor: Compactor, count: CountUsage) -> None:
        self._log, self._compactor, self._count = log, compactor, count
        self._usage: Usage = dict(log.session.history.usage)
        self._counted = len(log.messages)

    def note_usage(self, usage: Usage) -> None:
        """Remember the usage of the newest answer: it is how full the window is."""
        self._usage, self._counted = usage, len(self._log.messages) + 1

    @property
    def used_tokens(self) -> int:
        """About how many tokens of the window are used."""
        return used(self._usage, self._log.messages[self._counted :])

    @property
    def usage(self) -> Usage:
        """The usage of the newest answer, or an empty one."""
        return self._usage

    @property
    def is_on(self) -> bool:
        """Whether the log is compacted by itself."""
        return self._compactor.is_on

    def threshold(self, model: Model) -> int:
        """Return the number of tokens from which on the log is compacted."""
        return self._compactor.threshold(_window(model))

    def is_due(self, model: Model) -> bool:
        """Return whether the next request has too little room."""
        return self._compactor.is_due(self.used_tokens, self._log.messages, _window(model))

    async def compact(
        self,
        client: ModelClient,
        question: Question,
        trigger: Trigger,
        instructions: str = "",
        *,
        before_boundary: Callable[[], None] = lambda: None,
        on_summary: Callable[[str], Awaitable[None]] | None = None,
    ) -> str | None:
        """Replace the older messages by a summary; return None, or why it failed.

        `question` is the request that has no room: the request for the summary needs the same tools, and shares its
        cached beginning. `before_boundary` is called before the events that show the new conversation,
        `on_summary` with the answer of the model before that.
        """
        log, window = self._log, _window(question.model)
        if trigger == "auto" and len(plan(log.messages, window).older) < MIN_MESSAGES:
            return TOO_FEW
        log.emit(Status(status="compacting"))
        answer = ""

        async def ask(messages: Sequence[Message]) -> str:
            nonlocal answer
            changed = msgspec.structs.replace(question, messages=tuple(messages))
            answer = await ask_for_text(client, changed, self._count)
            return answer

        done = await self._compactor.compact(
            log.messages,
            window,
            trigger=trigger,
            used_tokens=self.used_tokens,
            ask=ask,
            transcript_path=str(log.session.path) if log.session.path else None,
            now=time.monotonic,
            instructions=instructions,
        )
        if isinstance(done, NotCompacted):
            log.emit(Status(compact_result="failed", compact_error=done.error))
            return done.error
        if on_summary is not None:
            await on_summary(answer)
        log.emit(Status(compact_result="success"))
        before_boundary()
        self._replace(done)
        return None

    def _replace(self, compacted: Compacted) -> None:
        recorded = record(compacted, self._log.session)
        self._log.messages = list(compacted.messages)
        self._usage, self._counted = {}, 0
        anchor = recorded.summary.uuid
        boundary = CompactBoundary(compact_metadata=event_metadata(recorded.metadata), uuid=recorded.boundary)
        self._log.emit(boundary)
        self._log.emit(
            User(
                message=UserMessage(content=compacted.summary),
                uuid=anchor,
                timestamp=recorded.summary.timestamp,
                is_synthetic=True,
                is_replay=False,
            )
        )


async def ask_for_text(client: ModelClient, question: Question, count: CountUsage) -> str:
    """Ask a question outside the conversation and return the text of the answer. Raises ModelFailure."""
    blocks = await ask_for_blocks(client, question, count)
    return "".join(block["text"] for block in blocks if block_type(block) == "text")


async def ask_for_blocks(client: ModelClient, question: Question, count: CountUsage) -> list[Block]:
    """Ask a question outside the conversation and return the blocks of the answer. Raises ModelFailure."""
    blocks: list[Block] = []
    model = ""
    question = msgspec.structs.replace(question, messages=tuple(valid_history(question.messages)))
    stream = cast("AsyncGenerator[AnswerPiece, None]", client.answer(question))
    try:
        async for piece in stream:
            match piece:
                case AnswerStarted():
                    model = str(AnswerHead.of(piece.message).model or "")
                case BlockFinished():
                    blocks.append(piece.block)
                case AnswerRestarted():
                    blocks.clear()
                case AnswerFinished():
                    count(model, piece.usage)
                case _:
                    pass
    finally:
        await stream.aclose()
    return blocks


def event_metadata(metadata: CompactMetadata) -> dict[str, Any]:
    """Return the metadata of a transcript line as the event has it: names in snake case, in another order."""
    values = ((name, getattr(metadata, name)) for name in EVENT_FIELDS)
    return {
        name: msgspec.structs.asdict(value) if isinstance(value, Struct) else value
        for name, value in values
        if value is not UNSET
    }


def _window(model: Model) -> Window:
    return Window(model.context_window, model.max_tokens)

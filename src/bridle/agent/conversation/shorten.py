"""Makes room in the model's window: asks for a summary, and puts it in the place of what it stands for."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import msgspec

from bridle.agent.compaction.compact_history import Compacted, Compactor, NotCompacted, Trigger, record
from bridle.agent.compaction.window import Window, plan, used
from bridle.agent.conversation.message_log import MessageLog
from bridle.agent.conversation.side_question import Count, words
from bridle.agent.model.api.client_protocol import ModelClient
from bridle.agent.model.api.models import Model
from bridle.agent.model.api.question import Question
from bridle.agent.sessions.session import new_uuid
from bridle.agent.stdio import output_events

# One message cannot be made shorter by a summary of it.
MIN_MESSAGES = 2


class Shortener:
    """Keeps a conversation inside the window of its model."""

    def __init__(
        self, book: MessageLog, compactor: Compactor, *, emit: Callable[[dict[str, Any]], None], count: Count
    ) -> None:
        self._book, self._compactor, self._emit, self._count = book, compactor, emit, count
        self._usage: dict[str, Any] = dict(book.session.history.usage)
        self._counted = len(book.messages)

    def saw(self, usage: dict[str, Any]) -> None:
        """An answer came: so full is the window now."""
        self._usage, self._counted = usage, len(self._book.messages) + 1

    def is_due(self, model: Model) -> bool:
        """Whether there is too little room for the next request."""
        return self._compactor.is_due(self.used_tokens, self._book.messages, _window(model))

    async def shorten(self, client: ModelClient, ask: Question, trigger: Trigger, instructions: str = "") -> bool:
        """Put a summary in place; False where that did not work. `ask` is the request that has no room."""
        if trigger == "auto" and len(plan(self._book.messages, _window(ask.model)).summed_up) < MIN_MESSAGES:
            return False
        self._system("status", {"status": "compacting"})
        done = await self._compactor.compact(
            self._book.messages,
            _window(ask.model),
            trigger=trigger,
            used_tokens=self.used_tokens,
            ask=lambda messages: self._summary(client, ask, messages),
            transcript_path=str(self._book.session.path) if self._book.session.path else None,
            now=time.monotonic,
            instructions=instructions,
        )
        if isinstance(done, NotCompacted):
            self._system("status", {"status": None, "compact_result": "failed", "compact_error": done.error})
            return False
        self._system("status", {"status": None, "compact_result": "success"})
        self._put(done)
        return True

    def _put(self, done: Compacted) -> None:
        session = self._book.session
        recorded = record(done, session)
        self._book.messages = list(done.messages)
        self._usage, self._counted = {}, 0
        metadata = {"compact_metadata": recorded.metadata}
        self._emit(output_events.system("compact_boundary", metadata, session_id=session.id, uuid=recorded.boundary))
        summary = output_events.user(
            done.summary,
            session_id=session.id,
            uuid=recorded.summary.uuid,
            timestamp=recorded.summary.timestamp,
            is_synthetic=True,
        )
        self._emit({**summary, "isReplay": False})

    async def _summary(self, client: ModelClient, ask: Question, messages: list[dict[str, Any]]) -> str:
        """The words of the model, to the request that has no room with other messages.

        The endpoint wants the tools that messages speak of, and knows the beginning of the request already.
        """
        return await words(client, msgspec.structs.replace(ask, messages=tuple(messages)), self._count)

    @property
    def used_tokens(self) -> int:
        """About how full the window is."""
        return used(self._usage, self._book.messages[self._counted :])

    def _system(self, subtype: str, fields: dict[str, Any]) -> None:
        self._emit(output_events.system(subtype, fields, session_id=self._book.session.id, uuid=new_uuid()))


def _window(model: Model) -> Window:
    return Window(model.context_window, model.max_tokens)

"""Asking the model: what every request of a conversation begins with, and what is asked beside it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, cast

from bridle.agent.compaction.compact_history import Compactor, Trigger
from bridle.agent.conversation.message_log import MessageLog
from bridle.agent.conversation.model_setup import ConversationOptions, ModelSetup
from bridle.agent.conversation.shorten import Shortener
from bridle.agent.conversation.side_question import words
from bridle.agent.conversation.turn_result import Totals
from bridle.agent.model.api.client_protocol import ModelClient
from bridle.agent.model.api.models import Model, resolve_model
from bridle.agent.model.api.question import Question
from bridle.agent.model.api.stream_pieces import AnswerPiece
from bridle.agent.tools.toolbox import Toolbox


class Asking:
    """Makes the requests of one conversation, and counts what they use."""

    def __init__(
        self,
        *,
        book: MessageLog,
        persona: ModelSetup,
        toolbox: Toolbox,
        totals: Totals,
        compactor: Compactor,
        connect: Callable[[], Awaitable[ModelClient]],
        emit: Callable[[dict[str, Any]], None],
    ) -> None:
        self._book, self._persona, self._toolbox, self._totals = book, persona, toolbox, totals
        self._connect = connect
        self._shortener = Shortener(book, compactor, emit=emit, count=self._add)
        self._client: ModelClient | None = None
        self._head: tuple[list[dict[str, Any]], list[dict[str, Any]]] = ([], [])

    @property
    def used_tokens(self) -> int:
        """About how full the model's window is."""
        return self._shortener.used_tokens

    async def answer(
        self, manner: ConversationOptions, tool_choice: dict[str, Any] | None
    ) -> AsyncGenerator[AnswerPiece, None]:
        """Ask with the history as it is; one that fills the window is summed up first."""
        client = await self._connected()
        if self._shortener.is_due(self._persona.model):
            await self._shortener.shorten(client, self._request(manner), "auto")
        stream = cast("AsyncGenerator[AnswerPiece, None]", client.answer(self._request(manner, tool_choice)))
        try:
            async for piece in stream:
                yield piece
        finally:
            await stream.aclose()

    async def shorten(self, manner: ConversationOptions, trigger: Trigger, instructions: str = "") -> bool:
        """Put a summary in the place of what was said; False where that did not work."""
        client = await self._connected()
        return await self._shortener.shorten(client, self._request(manner), trigger, instructions)

    async def aside(self, manner: ConversationOptions, model: Model, question: str) -> str:
        """Ask a model something beside the conversation; what it costs counts."""
        ask = Question(
            model=model,
            messages=({"role": "user", "content": question},),
            thinking_tokens=0,
            fallbacks=manner.fallbacks,
            session_id=self._book.session.id,
        )
        return await words(await self._connected(), ask, self._add)

    def count(self, model: str, usage: dict[str, Any]) -> None:
        """Count an answer in the conversation."""
        self._add(model, usage)
        self._shortener.saw(usage)

    async def close(self) -> None:
        """Let go of the model's connections."""
        if self._client is not None:
            await self._client.close()

    async def _connected(self) -> ModelClient:
        """The model's client, and what every request begins with; both are made when they are first needed."""
        if self._client is None:
            self._client = await self._connect()
            self._head = (await self._persona.system(), await self._persona.reminder())
        return self._client

    def _request(self, manner: ConversationOptions, tool_choice: dict[str, Any] | None = None) -> Question:
        return Question(
            model=self._persona.model,
            messages=tuple(self._messages()),
            system=tuple(self._head[0]),
            tools=tuple(self._toolbox.definitions()),
            # A model that is told which tool to call cannot think before it.
            thinking_tokens=0 if tool_choice is not None else manner.thinking_tokens,
            effort=manner.effort,
            tool_choice=tool_choice,
            fallbacks=manner.fallbacks,
            session_id=self._book.session.id,
        )

    def _messages(self) -> list[dict[str, Any]]:
        """The history as it is sent: with the reminder before the first words, and the listing after them."""
        first, *rest = self._book.messages
        content = first["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        opened = {"role": first["role"], "content": [*self._head[1], *blocks]}
        listing = [{"role": "system", "content": self._persona.listing}] if self._persona.listing else []
        return [opened, *listing, *rest]

    def _add(self, model: str, usage: dict[str, Any]) -> None:
        """Add an answer to the totals, under the name that the run shows for its model."""
        mine = self._persona.model
        self._totals.ledger.add(mine if model in ("", mine.id) else resolve_model(model, {}), usage)

"""The life of a run: messages in, turns out, until the host has no more to say and nothing is left to wait for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

from bridle.agent import events
from bridle.agent.conversation import Conversation, merged
from bridle.agent.input import Said
from bridle.agent.session import new_uuid

# How long a run whose answer is out waits for commands in the background, as programs have seen it.
BACKGROUND_SECONDS = 5.0

_NOTICE = {"kind": "task-notification"}


class News(Protocol):
    """What a command in the background has to tell."""

    def facts(self) -> list[tuple[str, dict[str, Any]]]:
        """The system events: subtype and fields."""

    def notice(self) -> str | None:
        """What the model is told; None where it need not know."""


class Behind(Protocol):
    """The commands that run in the background."""

    @property
    def is_idle(self) -> bool:
        """Whether none runs."""

    def news(self) -> list[News]:
        """What happened since the last time somebody asked."""

    @property
    def changed(self) -> asyncio.Event:
        """Set when there is news."""

    async def stop_all(self) -> None:
        """End every command."""


class Talk:
    """Takes what comes in, one turn after the other."""

    def __init__(self, conversation: Conversation, behind: Behind, *, local: Callable[[Said], Any]) -> None:
        self._conversation, self._behind, self._local = conversation, behind, local

    async def run(self, first: Said | None) -> None:
        """Talk until the end. `first` is the prompt of a run that does not listen to standard input."""
        if first is not None:
            await self._turn(first)
        while not self._is_over():
            said = await self._next(listens=first is None)
            if said is None:
                break
            await self._turn(said[0], origin=said[1])
        await self._behind.stop_all()
        self._tell_news()

    def _is_over(self) -> bool:
        conversation = self._conversation
        return conversation.signal is not None or conversation.inbox.broken is not None

    async def _turn(self, said: Said, *, origin: dict[str, str] | None = None) -> None:
        if origin is None and await self._local(said):
            return
        await self._conversation.turn(said, origin=origin)

    async def _next(self, *, listens: bool) -> tuple[Said, dict[str, str] | None] | None:
        """What the next turn is about: what the host said, or what a command in the background brought."""
        inbox = self._conversation.inbox
        deadline = None if listens and not inbox.at_end else _soon()
        while True:
            if notices := self._tell_news():
                return Said("\n".join(notices)), _NOTICE
            if inbox.messages:
                waiting = list(inbox.messages)
                inbox.messages.clear()
                return merged(waiting), None
            if self._is_over():
                return None
            if inbox.at_end or not listens:
                if self._behind.is_idle:
                    return None
                deadline = deadline if deadline is not None else _soon()
                if asyncio.get_running_loop().time() >= deadline:
                    return None
            await self._changed(deadline)

    async def _changed(self, deadline: float | None) -> None:
        """Wait for anything to happen, no longer than to the deadline."""
        inbox, behind = self._conversation.inbox, self._behind
        inbox.changed.clear()
        waits = [asyncio.create_task(event.wait()) for event in (inbox.changed, behind.changed)]
        limit = None if deadline is None else max(0.0, deadline - asyncio.get_running_loop().time())
        try:
            await asyncio.wait(waits, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    def _tell_news(self) -> list[str]:
        """Print what happened in the background; give back what the model should know of it."""
        notices: list[str] = []
        for news in self._behind.news():
            for subtype, fields in news.facts():
                self._conversation.emit(
                    events.system(subtype, fields, session_id=self._conversation.session_id, uuid=new_uuid())
                )
            notice = news.notice()
            if notice is not None:
                notices.append(notice)
        return notices


def _soon() -> float:
    return asyncio.get_running_loop().time() + BACKGROUND_SECONDS

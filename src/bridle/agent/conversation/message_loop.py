"""The life of a run: messages in, turns out, until the host has no more to say and nothing is left to wait for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from bridle.agent.conversation.conversation import Conversation, merged
from bridle.agent.conversation.model_setup import Called
from bridle.agent.sessions.session import new_uuid
from bridle.agent.skills.catalogue import Skills
from bridle.agent.stdio import output_events
from bridle.agent.stdio.input import Said
from bridle.agent.tools.shell import background as tasks
from bridle.agent.tools.shell.background import BackgroundTasks, TaskEvent, TaskFinished, TaskStarted

# How long a run whose answer is out waits for commands in the background, as programs have seen it.
BACKGROUND_SECONDS = 5.0

# What the program answers itself, besides the skills.
COMMANDS = ("compact", "context")

_NOTICE = {"kind": "task-notification"}


class MessageLoop:
    """Takes what comes in, one turn after the other."""

    def __init__(
        self,
        conversation: Conversation,
        background: BackgroundTasks,
        skills: Skills,
        inline: Callable[[str], Awaitable[str]],
    ) -> None:
        """`inline` runs the commands that stand in a skill's text."""
        self._conversation, self._background, self._skills = conversation, background, skills
        self._inline = inline
        self._inbox = conversation.inbox
        conversation.on_catch_up = self._catch_up

    async def run(self, first: Said | None) -> None:
        """Talk until the end. `first` is the prompt of a run that does not listen to standard input."""
        follower = asyncio.create_task(self._follow())
        try:
            if first is not None:
                await self._turn(first)
            while (found := await self._next(listens=first is None)) is not None:
                await self._turn(found[0], origin=found[1])
        finally:
            await self._background.stop_all()
            follower.cancel()
            self._catch_up()

    @property
    def _is_over(self) -> bool:
        return self._conversation.signal is not None or self._inbox.broken is not None

    async def _turn(self, said: Said, *, origin: dict[str, str] | None = None) -> None:
        if origin is not None or not said.text.startswith("/"):
            await self._conversation.turn(said, origin=origin)
            return
        name, _, rest = said.text.strip().partition(" ")
        if name in ("/compact", "/context"):
            await self._own(name, said, rest)
            return
        from bridle.agent.skills.slash_commands import ExpandedPrompt, LocalAnswer, expand_slash_command

        session_id = self._conversation.session_id
        meaning = await expand_slash_command(
            said.text.strip(), self._skills, session_id=session_id, inline=self._inline, others=COMMANDS
        )
        match meaning:
            case LocalAnswer():
                self._conversation.answer_locally(said, meaning.text, is_error=meaning.is_error)
            case ExpandedPrompt():
                shown, *bodies = meaning.texts
                await self._conversation.turn(said, called=Called(shown, "\n".join(bodies)))
            case None:
                await self._conversation.turn(said)

    async def _own(self, name: str, said: Said, rest: str) -> None:
        """A command of the program itself."""
        if name == "/compact":
            await self._conversation.compact_turn(said, rest)
        else:
            self._conversation.answer_locally(said, self._conversation.context_text())

    async def _next(self, *, listens: bool) -> tuple[Said, dict[str, str] | None] | None:
        """What the next turn is about: what the host said, or what a command in the background brought."""
        loop, deadline = asyncio.get_running_loop(), None
        is_idle = self._conversation.last is None
        while not self._is_over:
            if notices := self._conversation.take_notices():
                return Said("\n".join(notices)), _NOTICE
            if self._inbox.messages:
                return self._waiting(is_idle=is_idle), None
            if self._inbox.at_end or not listens:
                deadline = deadline or loop.time() + BACKGROUND_SECONDS
                if not self._background.running or loop.time() >= deadline:
                    return None
            self._inbox.changed.clear()
            try:
                async with asyncio.timeout_at(deadline):
                    await self._inbox.changed.wait()
            except TimeoutError:
                continue
            is_idle = True
        return None

    def _waiting(self, *, is_idle: bool) -> Said:
        """What waited while a turn was under way is one message; whoever comes when nothing is done begins at once."""
        if is_idle:
            return self._inbox.messages.popleft()
        waiting = list(self._inbox.messages)
        self._inbox.messages.clear()
        return merged(waiting)

    def _catch_up(self) -> None:
        while not self._background.events.empty():
            self._tell(self._background.events.get_nowait())

    async def _follow(self) -> None:
        """Tell what happens in the background as it happens."""
        while True:
            self._tell(await self._background.events.get())

    def _tell(self, news: TaskEvent) -> None:
        match news:
            case TaskStarted():
                fields = {"tool_use_id": news.call_id, "description": news.description, "task_type": "local_bash"}
                self._system("task_started", {"task_id": news.task_id, **fields})
            case TaskFinished():
                patch = {"status": news.status, "end_time": news.end_time_ms}
                self._system("task_updated", {"task_id": news.task_id, "patch": patch})
                is_told = self._background.is_reported(news.task_id)
                # Who waited for the end and got it with the output needs no notice; who stopped a task gets one.
                if not is_told or news.status == "killed":
                    ids = {"task_id": news.task_id, "tool_use_id": news.call_id}
                    self._system("task_notification", {**ids, **tasks.notification_fields(news)})
                if not is_told:
                    self._conversation.notices.append(tasks.notification_text(news))
                self._inbox.changed.set()

    def _system(self, subtype: str, fields: dict[str, object]) -> None:
        session_id = self._conversation.session_id
        self._conversation.emit(output_events.system(subtype, fields, session_id=session_id, uuid=new_uuid()))

"""A conversation: turn after turn, with what the host says in between and the signals that may end it."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

import msgspec

from bridle.agent.compaction.compact_history import NOTHING_TO_COMPACT, Compactor
from bridle.agent.conversation import turn_result
from bridle.agent.conversation.message_log import MessageLog
from bridle.agent.conversation.model_requests import Asking
from bridle.agent.conversation.model_setup import Called, ConversationOptions, ModelSetup
from bridle.agent.conversation.turn import TurnUnderWay
from bridle.agent.conversation.turn_host import Limits
from bridle.agent.conversation.turn_result import Ending, Totals, Turn
from bridle.agent.model.api.client_protocol import ModelClient
from bridle.agent.model.api.models import Model
from bridle.agent.model.api.stream_pieces import AnswerPiece, ModelFallback
from bridle.agent.permissions.rules.policy import Policy, with_shell_folder
from bridle.agent.sessions.session import Noted, new_uuid
from bridle.agent.stdio import output_events
from bridle.agent.stdio.formats import Speaker
from bridle.agent.stdio.input import Inbox, Said
from bridle.agent.tools.structured_output import StructuredOutput
from bridle.agent.tools.toolbox import FinishedCall, Toolbox, ToolCall
from bridle.errors import Error
from bridle.ground import clock

MEANWHILE = "While you were working, the user wrote:\n{text}\n\nTake this into account as you go on."

# What a shell reports for a program that a signal ended.
_SIGNAL_CODE = 128


class Conversation:
    """Takes turns until nobody says anything more."""

    def __init__(
        self,
        *,
        manner: ConversationOptions,
        persona: ModelSetup,
        book: MessageLog,
        toolbox: Toolbox,
        structured: StructuredOutput | None,
        connect: Callable[[], Awaitable[ModelClient]],
        speaker: Speaker,
        inbox: Inbox,
        compactor: Compactor,
        shell_folder: Callable[[], str],
        attached: Callable[[str], list[str]],
    ) -> None:
        self.manner, self.persona, self.book = manner, persona, book
        self.toolbox, self.structured = toolbox, structured
        self._speaker, self.inbox = speaker, inbox
        self._shell_folder, self._attached = shell_folder, attached
        self._emit_to: Callable[[dict[str, Any]], None] = speaker.event
        self.totals = Totals()
        self._asking = Asking(
            book=book,
            persona=persona,
            toolbox=toolbox,
            totals=self.totals,
            compactor=compactor,
            connect=connect,
            emit=self.emit,
        )
        self.last: Ending | None = None
        self.signal: int | None = None
        self.on_catch_up: Callable[[], None] = lambda: None
        """Tells what has happened in the background."""
        self.notices: list[str] = []
        """What happened in the background and the model has not been told."""
        self._task: asyncio.Task[Ending] | None = None
        self._is_cut = False
        self._is_latched = False
        self._has_fallen_back = False

    @property
    def session_id(self) -> str:
        """The id of the session."""
        return self.book.session.id

    @property
    def ledger(self) -> MessageLog:
        """Where what was said is written down."""
        return self.book

    @property
    def limits(self) -> Limits:
        """Where a turn ends without an answer."""
        return self.manner.limits

    @property
    def shows_frames(self) -> bool:
        """Whether the pieces of an answer are shown as they come."""
        return self.manner.shows_frames

    @property
    def shown_model(self) -> str:
        """The model's name as `init` shows it."""
        return self.persona.model.shown

    # Turns

    async def turn(self, said: Said, *, origin: dict[str, str] | None = None, called: Called | None = None) -> None:
        """Take one turn: exactly one result, whatever happens. `called` is the skill that the words stand for."""
        tally = self._begin()
        ending = await self._guarded(said, tally, called)
        self.finish(ending if origin is None else msgspec.structs.replace(ending, origin=origin), tally)

    def answer_locally(self, said: Said, text: str, *, result: str | None = None, is_error: bool = False) -> None:
        """Answer without the model; `result` is what the result says where it is not the same."""
        tally = self._begin()
        self.book.local(said.content, typed=said.text, uuid=said.uuid)
        message = output_events.synthetic_message(text, message_id=new_uuid())
        self.emit(output_events.synthetic(message, session_id=self.session_id, uuid=new_uuid()))
        shown = text if result is None else result
        self.finish(Ending(text=shown, is_local=True, is_error=is_error, terminal_reason=None), tally)

    async def compact_turn(self, said: Said, instructions: str) -> None:
        """Sum the conversation up, since the user wants it: the summary is the whole turn."""
        tally = Turn(started=time.monotonic())
        ending = Ending(is_local=True, terminal_reason=None)
        try:
            if not self.book.messages:
                self.answer_locally(said, f"Error: {NOTHING_TO_COMPACT}", result="")
                return
            kept: list[dict[str, Any]] = []
            self._emit_to, done = kept.append, False
            done = await self._asking.shorten(self.manner, "manual", instructions)
            await self.book.keep()
        except Error as error:
            ending = _broken(error.message)
        finally:
            self._emit_to = self._speaker.event
        statuses = [event for event in kept if event.get("subtype") == "status"]
        for event in statuses:
            self.emit(event)
        self.emit(output_events.init(self.persona.opening(), session_id=self.session_id, uuid=new_uuid()))
        for event in kept:
            if event not in statuses:
                self.emit(event)
        if done:
            self.replay(Said("<local-command-stdout>Compacted </local-command-stdout>"), new_uuid())
        elif ending.subtype == "success":
            ending = msgspec.structs.replace(ending, text=self._tell_why(statuses[-1]))
        self.finish(ending, tally)

    def _tell_why(self, status: dict[str, Any]) -> str:
        """Say why the conversation was not made shorter."""
        why = str(status["compact_error"])
        message = output_events.synthetic_message(why, message_id=new_uuid())
        self.emit(output_events.synthetic(message, session_id=self.session_id, uuid=new_uuid()))
        return why

    def _begin(self) -> Turn:
        tally = Turn(started=time.monotonic())
        self.emit(output_events.init(self.persona.opening(), session_id=self.session_id, uuid=new_uuid()))
        return tally

    def finish(self, ending: Ending, tally: Turn) -> None:
        """Print the result of a turn."""
        self.last = ending
        self._speaker.result(
            turn_result.result(
                ending, tally, self.totals, now=time.monotonic(), session_id=self.session_id, uuid=new_uuid()
            )
        )

    async def _guarded(self, said: Said, tally: Turn, called: Called | None) -> Ending:
        try:
            noted = self._note(said, called)
            if self.manner.replays:
                self.replay(said, noted.uuid)
            under_way = TurnUnderWay(self, tally, prompt_uuid=noted.uuid)
            ending = await self._held(under_way)
            await self.book.keep()
        except Error as error:
            return _broken(error.message)
        except Exception as error:  # noqa: BLE001  # whatever it is, the host is owed a result
            return _broken(f"{type(error).__name__}: {error}")
        return ending

    def _note(self, said: Said, called: Called | None) -> Noted:
        """Write the words of the user down, with what they stand for and the files that they name."""
        if called is not None:
            return self.book.command(called.shown, called.body, typed=said.text, uuid=said.uuid)
        mode = self.persona.policy.mode
        return self.book.prompt(said.content, self._attached(said.text), permission_mode=mode, uuid=said.uuid)

    async def _held(self, under_way: TurnUnderWay) -> Ending:
        """Let a turn run; an interruption ends it in its own way."""
        model = self.persona.model  # another one that steps in does so for this turn
        task = self._task = asyncio.create_task(under_way.run())
        if self._is_latched:
            self.cut()
        try:
            return await task
        except asyncio.CancelledError:
            if not self._is_cut:
                raise
            return await under_way.interrupted()
        except BaseException:
            await under_way.abandon()
            raise
        finally:
            self._task, self._is_cut, self._is_latched = None, False, False
            if self._has_fallen_back:
                self.persona.model, self._has_fallen_back = model, False

    def ask(self, *, tool_choice: dict[str, Any] | None) -> AsyncGenerator[AnswerPiece, None]:
        """Ask the model with the history as it is."""
        return self._asking.answer(self.manner, tool_choice)

    async def make_room(self) -> bool:
        """Put a summary in the place of what does not fit."""
        return await self._asking.shorten(self.manner, "auto")

    async def aside(self, model: Model, question: str) -> str:
        """Ask a model something beside the conversation."""
        return await self._asking.aside(self.manner, model, question)

    async def run(self, call: ToolCall) -> FinishedCall:
        """Run a tool call, if it may run."""
        done = await self.toolbox.run(call, self.policy)
        self.book.session.moved(self._shell_folder())
        return done

    def policy(self) -> Policy:
        """What may run now."""
        return with_shell_folder(self.persona.policy, self._shell_folder())

    def count(self, model: str, usage: dict[str, Any]) -> None:
        """Count an answer."""
        self._asking.count(model, usage)

    def fall_back(self, piece: ModelFallback) -> dict[str, Any]:
        """Another model steps in for the rest of the turn."""
        self.persona.model, self._has_fallen_back = piece.model, True
        return {
            "trigger": piece.trigger,
            "original_model": piece.original,
            "fallback_model": piece.fallback,
            "content": piece.content,
        }

    def take_meanwhile(self) -> None:
        """Tell the model what the user wrote while its calls ran."""
        while self.inbox.messages:
            said = self.inbox.messages.popleft()
            self.book.joined(said.content, MEANWHILE.format(text=said.text))
            if self.manner.replays:
                self.replay(said, said.uuid or new_uuid())

        for notice in self.take_notices():
            self.book.noticed(notice)

    def catch_up(self) -> None:
        """Tell what has happened in the background, before a call's result is told."""
        self.on_catch_up()

    async def pace(self) -> None:
        """Wait for a reader that is too far behind."""
        await self._speaker.output.caught_up()

    def take_notices(self) -> list[str]:
        """What the model must be told, once."""
        notices, self.notices = self.notices, []
        return notices

    def context_text(self) -> str:
        """How full the model's window is, in words."""
        model, used = self.persona.model, self._asking.used_tokens
        share = round(100 * used / model.context_window)
        return f"## Context Usage\n\n**Model:** {model.shown}\n**Tokens:** {used} / {model.context_window} ({share}%)"

    # What is said to the host

    def emit(self, event: dict[str, Any]) -> None:
        """Print an event."""
        self._emit_to(event)

    def replay(self, said: Said, uuid: str) -> None:
        """Give a message back to the host."""
        self.emit(output_events.replay(said.content, session_id=self.session_id, uuid=uuid, timestamp=_now()))

    # What the host says

    def cut(self) -> bool:
        """End the turn under way, or the one that is about to begin; False where there is neither."""
        if self._task is not None:
            if not self._is_cut:
                self._is_cut = True
                self._task.cancel()
            return True
        self._is_latched = bool(self.inbox.messages)
        return self._is_latched

    def signalled(self, number: int) -> None:
        """A signal wants the process to end: the turn ends first, with its result."""
        self.signal = number
        self.cut()
        self.inbox.end()

    def exit_code(self) -> int:
        """What the process ends with."""
        if self.signal is not None and not (self.signal == signal.SIGINT and self.manner.is_stream):
            return _SIGNAL_CODE + self.signal
        if self.signal is not None:
            return 0
        return 1 if self.inbox.broken is not None or (self.last is not None and self.last.is_error) else 0

    async def close(self) -> None:
        """Let go of the model's connections."""
        await self._asking.close()


def merged(messages: list[Said]) -> Said:
    """Several messages that waited together, as one."""
    if len(messages) == 1:
        return messages[0]
    if all(isinstance(said.content, str) for said in messages):
        return Said("\n".join(str(said.content) for said in messages), messages[-1].uuid)
    blocks: list[dict[str, Any]] = []
    for said in messages:
        blocks += [{"type": "text", "text": said.content}] if isinstance(said.content, str) else said.content
    return Said(blocks, messages[-1].uuid)


def _broken(text: str) -> Ending:
    return Ending("error_during_execution", is_error=True, terminal_reason=None, errors=(text,))


def _now() -> str:
    return clock.iso(clock.now())

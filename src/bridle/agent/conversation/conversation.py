"""A conversation: turns one after the other, interrupts, signals, and the exit code."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec

from bridle.agent.compaction.compact_history import NOTHING_TO_COMPACT
from bridle.agent.conversation import turn_result
from bridle.agent.conversation.background_events import BackgroundEvents
from bridle.agent.conversation.message_log import MessageLog
from bridle.agent.conversation.model_requests import ModelRequests
from bridle.agent.conversation.model_setup import ConversationOptions, ModelSetup
from bridle.agent.conversation.session_hooks import SessionHooks
from bridle.agent.conversation.turn import Turn
from bridle.agent.conversation.turn_result import Ending, TurnCounts
from bridle.agent.hooks.outcome import HookOutcome
from bridle.agent.model.api.question import Block, Content
from bridle.agent.sessions.api_messages import blocks_of, text_block
from bridle.agent.sessions.session import LineId, new_uuid
from bridle.agent.stdio.inbox import Inbox, Prompt
from bridle.agent.stdio.output_events import Informational, Init, Result
from bridle.agent.tools.structured_output import StructuredOutput
from bridle.agent.tools.toolbox import Toolbox
from bridle.errors import Error

MIDTURN = "While you were working, the user wrote:\n{text}\n\nTake this into account as you continue."

NOTICE = "A report about a task in the background, not a message of the user:\n\n{text}"

# What a shell reports for a program that a signal ended.
_SIGNAL_CODE = 128


class SkillCall(msgspec.Struct, frozen=True):
    """A slash command that calls a skill."""

    shown: str
    """How the transcript shows the call."""
    body: Content
    """The text of the skill, or the blocks of a prompt, which the model reads."""
    source: str = ""
    """Where it is defined, as hooks name it: `userSettings`, `projectSettings`, …; empty if that is unknown."""


class Conversation:
    """Runs turns, each with exactly one result event."""

    def __init__(
        self,
        *,
        options: ConversationOptions,
        setup: ModelSetup,
        log: MessageLog,
        requests: ModelRequests,
        toolbox: Toolbox,
        structured: StructuredOutput | None,
        inbox: Inbox,
        background: BackgroundEvents,
        init_event: Callable[[], Init],
        mentioned_files: Callable[[str], list[Block]],
        nested_instructions: Callable[[], str | None] = lambda: None,
        hooks: SessionHooks | None = None,
        on_prompt: Callable[[str], None] = lambda _uuid: None,
    ) -> None:
        """`init_event` describes the session as it is now; `mentioned_files` reads the @paths in a prompt.

        `on_prompt` is called with the id of each prompt before its turn runs.
        """
        self.options, self.setup, self.log, self.inbox, self.background = options, setup, log, inbox, background
        self._requests, self._toolbox, self._structured = requests, toolbox, structured
        self._init_event, self._mentioned_files, self.hooks = init_event, mentioned_files, hooks
        self._nested_instructions = nested_instructions
        self._on_prompt = on_prompt
        self.last: Ending | None = None
        self.signal: int | None = None
        self._task: asyncio.Task[Ending] | None = None
        self._waiting: asyncio.Task[HookOutcome] | None = None
        self._is_interrupted = False
        self._interrupts_next = self._is_busy = False
        self._held: list[Result] = []
        self._stopping: asyncio.Task[None] | None = None

    # Turns

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Count a message as taken: an interrupt that comes before its turn runs ends that turn."""
        self._is_busy = True
        try:
            yield
        finally:
            self._is_busy = self._interrupts_next = False

    async def turn(
        self, prompt: Prompt, *, origin: dict[str, str] | None = None, skill: SkillCall | None = None
    ) -> None:
        """Run one turn; it has a result whatever happens. `skill` is the skill that the prompt calls."""
        counts = TurnCounts(started=time.monotonic())
        ending = await self._run_turn(prompt, counts, skill)
        self._finish(ending if origin is None else msgspec.structs.replace(ending, origin=origin), counts)

    async def add_aside(self, prompt: Prompt) -> None:
        """Add a message that wants no answer; its result has no text."""
        counts = self._begin()
        line = self.log.aside(prompt.content, permission_mode=self.setup.policy.mode, uuid=prompt.uuid)
        if self.options.replays:
            self.log.replay(prompt.content, line.uuid)
        await self.log.save()
        self._finish(Ending(is_local=True, terminal_reason=None), counts)

    def answer_locally(
        self,
        prompt: Prompt,
        text: str,
        *,
        result: str | None = None,
        is_error: bool = False,
        is_replayed: bool = False,
    ) -> None:
        """Answer without the model; `result` is the text of the result event if it differs.

        With `is_replayed` the answer is printed as a message of the user, as the output of a command is.
        """
        counts = self._begin()
        self.log.local_command(prompt.content, typed=prompt.text, uuid=prompt.uuid)
        if is_replayed:
            self.log.replay(text, new_uuid())
        else:
            self.log.local_answer(text)
        text = text if result is None else result
        self._finish(Ending(text=text, is_local=True, is_error=is_error, terminal_reason=None), counts)

    async def compact_turn(self, prompt: Prompt, instructions: str) -> None:
        """Run a turn that compacts the conversation, as the user asked."""
        if not self.log.messages:
            self.answer_locally(prompt, NOTHING_TO_COMPACT, result="")
            return
        counts = TurnCounts(started=time.monotonic())
        ending = Ending(is_local=True, terminal_reason=None)
        is_shown = False

        def show_init() -> None:
            nonlocal is_shown
            is_shown = True
            self.log.emit(self._init_event())

        try:
            problem = await self._requests.compact("manual", instructions, before_boundary=show_init)
            await self.log.save()
        except Error as error:
            problem, ending = None, _failed(_with_remedy(error))
        if is_shown:
            self.log.replay("<local-command-stdout>Compacted </local-command-stdout>", new_uuid())
        else:
            show_init()
        if problem is not None:
            self.log.local_answer(problem)
            ending = msgspec.structs.replace(ending, text=problem)
        self._finish(ending, counts)

    def context_text(self) -> str:
        """Return the answer to /context: how full the context window is."""
        model, used = self.setup.model, self._requests.used_tokens
        share = round(100 * used / model.context_window)
        return f"## Context Usage\n\n**Model:** {model.shown}\n**Tokens:** {used} / {model.context_window} ({share}%)"

    def _begin(self) -> TurnCounts:
        counts = TurnCounts(started=time.monotonic())
        self.log.emit(self._init_event())
        return counts

    def _finish(self, ending: Ending, counts: TurnCounts) -> None:
        self.last = ending
        counts.denials += self._requests.totals.take_denials()
        self._held.append(turn_result.result(ending, counts, self._requests.totals, now=time.monotonic()))
        # Without a host, results wait for sub-agents in the background: many readers stop at the first result.
        if self.options.is_stream or not self.background.has_agents:
            self.release_results()

    def release_results(self) -> None:
        """Print the results that waited for sub-agents in the background."""
        held, self._held = self._held, []
        for event in held:
            self.log.emit(event)

    async def _run_turn(self, prompt: Prompt, counts: TurnCounts, skill: SkillCall | None) -> Ending:
        try:
            contexts: list[str] = []
            if self.hooks is None:
                self.log.emit(self._init_event())
            else:
                self.log.session.announce_prompt()
                event, outcome = await self._prompt_hooks(self.hooks, prompt, skill)
                self.log.emit(self._init_event())
                if outcome.block is not None or outcome.stops is not None:
                    return self._blocked(event, prompt, outcome)
                contexts = [*self.hooks.take_contexts(), *outcome.contexts]
            line = self._add_prompt(prompt, skill, contexts)
            self._on_prompt(line.uuid)
            if self.options.replays:
                self.log.replay(prompt.content if skill is None else skill.shown.rstrip("\n"), line.uuid)
            turn = Turn(
                log=self.log,
                requests=self._requests,
                setup=self.setup,
                options=self.options,
                toolbox=self._toolbox,
                structured=self._structured,
                counts=counts,
                prompt_uuid=line.uuid,
                before_result=self.background.report_pending,
                before_request=self._add_midturn_messages,
                hooks=self.hooks,
            )
            ending = await self._interruptible(turn)
            await self.log.save()
        except Error as error:
            return _failed(_with_remedy(error))
        except Exception as error:  # noqa: BLE001  # whatever it is, the client gets a result
            return _failed(f"{type(error).__name__}: {error}")
        return ending

    async def _prompt_hooks(
        self, hooks: SessionHooks, prompt: Prompt, skill: SkillCall | None
    ) -> tuple[str, HookOutcome]:
        """Run the hooks of a prompt; return the last event and its outcome, with the texts of all for the model.

        An interrupt ends them, and then the turn.
        """
        contexts: tuple[str, ...] = ()
        runs = {"UserPromptSubmit": hooks.prompt(prompt.text)}
        if skill is not None and hooks.hooks.has("UserPromptExpansion"):
            name, _, arguments = prompt.text.strip().removeprefix("/").partition(" ")
            expansion = hooks.expansion(name, arguments.strip(), skill.source, prompt.text)
            runs = {"UserPromptExpansion": expansion, **runs}
        event, outcome = "", HookOutcome()
        try:
            for event, running in runs.items():  # noqa: B007  # the last one is returned
                self._waiting = asyncio.create_task(running)
                outcome = await self._waiting
                contexts += outcome.contexts
                if outcome.block is not None or outcome.stops is not None:
                    break
        except asyncio.CancelledError:
            if not self._interrupts_next:
                raise
            return event, HookOutcome()
        finally:
            self._waiting = None
            for running in runs.values():
                running.close()
        return event, msgspec.structs.replace(outcome, contexts=contexts)

    def _blocked(self, event: str, prompt: Prompt, outcome: HookOutcome) -> Ending:
        """End a turn whose prompt a hook blocked; the model never sees it."""
        if outcome.stops is not None:
            text = f"Operation stopped by hook: {outcome.stops}"
        else:
            text = f"{event} operation blocked by hook:\n{outcome.block}\n\nOriginal prompt: {prompt.text}"
        self.log.emit(Informational(content=text))
        return Ending(text=text, is_local=True, terminal_reason=None)

    def _add_prompt(self, prompt: Prompt, skill: SkillCall | None, contexts: list[str]) -> LineId:
        notes = [text_block(f"<system-reminder>\n{text}\n</system-reminder>") for text in contexts]
        if skill is not None:
            return self.log.skill_command(skill.shown, skill.body, notes, typed=prompt.text, uuid=prompt.uuid)
        mode, files = self.setup.policy.mode, self._mentioned_files(prompt.text)
        return self.log.prompt(prompt.content, [*files, *notes], permission_mode=mode, uuid=prompt.uuid)

    async def _interruptible(self, turn: Turn) -> Ending:
        """Run a turn as a task that `interrupt` can cancel."""
        model = self.setup.model  # a fallback model is used for this turn only
        task = self._task = asyncio.create_task(turn.run())
        if self._interrupts_next:
            self.interrupt()
        try:
            return await task
        except asyncio.CancelledError:
            if not self._is_interrupted:
                raise
            if self._stopping is not None:
                await self._stopping
            return await turn.interrupted()
        except BaseException:
            await turn.abandon()
            raise
        finally:
            self._task, self._is_interrupted, self._interrupts_next = None, False, False
            if turn.has_fallen_back:
                self.setup.model = model

    def _add_midturn_messages(self) -> None:
        """Add the instructions for files that were read, and the messages and notices that arrived while calls ran."""
        if (text := self._nested_instructions()) is not None:
            self.log.instructions(text)
        while self.inbox.messages:
            prompt = self.inbox.messages.popleft()
            self.log.midturn(prompt.content, MIDTURN.format(text=prompt.text))
            if self.options.replays:
                self.log.replay(prompt.content, prompt.uuid or new_uuid())
        for notice in self.background.take_in_turn():
            self.log.midturn(notice, NOTICE.format(text=notice))

    def acknowledge(self, prompt: Prompt) -> None:
        """Echo a message that has no turn of its own, if the client wants echoes."""
        if self.options.replays:
            self.log.replay(prompt.content, prompt.uuid or new_uuid(), has_time=False)

    # The end

    def interrupt(self) -> None:
        """Interrupt the running turn, or the one that is about to begin, and end sub-agents in the background."""
        if self.background.has_agents:
            self._stopping = asyncio.create_task(self.background.stop_agents())
        if self._task is not None:
            if not self._is_interrupted:
                self._is_interrupted = True
                self._task.cancel()
        else:
            self._interrupts_next = self._is_busy or bool(self.inbox.messages)
            if self._waiting is not None:
                self._waiting.cancel()

    def on_signal(self, number: int) -> None:
        """Interrupt the turn because of a signal; the process ends after its result."""
        self.signal = number
        self.interrupt()
        self.inbox.end()

    def exit_code(self) -> int:
        if self.signal is not None and not (self.signal == signal.SIGINT and self.options.is_stream):
            return _SIGNAL_CODE + self.signal
        if self.signal is not None:
            return 0
        return 1 if self.inbox.invalid is not None or (self.last is not None and self.last.is_error) else 0

    async def close(self) -> None:
        """Close the connections to the model."""
        await self._requests.close()


def merge(prompts: list[Prompt]) -> Prompt:
    """Merge prompts that were queued together."""
    if len(prompts) == 1:
        return prompts[0]
    if all(isinstance(prompt.content, str) for prompt in prompts):
        return Prompt("\n".join(str(prompt.content) for prompt in prompts), prompts[-1].uuid)
    blocks: list[Block] = []
    for prompt in prompts:
        blocks += blocks_of(prompt.content)
    return Prompt(blocks, prompts[-1].uuid)


def _with_remedy(error: Error) -> str:
    return ". ".join(part.rstrip(".") for part in (error.message, error.remedy) if part)


def _failed(text: str) -> Ending:
    return Ending("error_during_execution", is_error=True, terminal_reason=None, errors=(text,))

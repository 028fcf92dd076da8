"""The main loop of a run: one turn per message, until the input ends and no background command runs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from bridle.agent.conversation.conversation import Conversation, SkillCall, merge
from bridle.agent.conversation.model_setup import allowed, with_model
from bridle.agent.model.api.models import Model
from bridle.agent.model.api.question import Block
from bridle.agent.permissions.rules.syntax import Rule
from bridle.agent.skills.catalogue import Skills
from bridle.agent.skills.skill_files import Skill
from bridle.agent.stdio.inbox import Prompt
from bridle.agent.tools.shell.background import BackgroundTasks
from bridle.errors import UserError

# How long a run waits for background commands after its last answer, as measured with Claude Code.
BACKGROUND_SECONDS = 5.0

# The slash commands that are not skills.
COMMANDS = {
    "compact": ("Replace the older part of the conversation by a summary", "[what to keep in it]"),
    "context": ("Show how full the context window is", ""),
}
"""Description and arguments by name."""


class MessageLoop:
    """Takes messages from the inbox and runs a turn for each."""

    def __init__(
        self,
        conversation: Conversation,
        background: BackgroundTasks,
        skills: Skills,
        inline: Callable[[str], Awaitable[str]],
        start: Callable[[], Awaitable[None]],
        expand_prompt: Callable[[str], Awaitable[tuple[str, list[Block]] | None]],
        rules_of: Callable[[Skill], tuple[Rule, ...]],
        model_of: Callable[[Skill], Model | None],
    ) -> None:
        """`inline` runs the commands in a skill's text, `start` the hooks at the start of the session.

        `expand_prompt` returns the name and the blocks of the prompt of an MCP server that a slash command calls,
        `rules_of` what a skill allows in the turn in which the user calls it, `model_of` the model of that turn.
        """
        self._conversation, self._background, self._skills = conversation, background, skills
        self._inline, self._start, self._has_started = inline, start, False
        self._expand_prompt, self._rules_of, self._model_of = expand_prompt, rules_of, model_of
        self._inbox = conversation.inbox

    async def run(self, first: Prompt | None) -> None:
        """Run until the end. `first` is the prompt of a run that does not read standard input."""
        events = self._conversation.background
        follower = asyncio.create_task(events.follow())
        try:
            if first is not None:
                await self._turn(first)
            while (message := await self._next(listens=first is None)) is not None:
                await self._turn(message[0], origin=message[1])
        finally:
            if self._conversation.hooks is not None and self._has_started:
                await self._conversation.hooks.end()
            await self._background.stop_all()
            follower.cancel()
            events.report_pending()
            self._conversation.release_results()

    @property
    def _is_over(self) -> bool:
        return self._conversation.signal is not None or self._inbox.invalid is not None

    async def _turn(self, prompt: Prompt, *, origin: dict[str, str] | None = None) -> None:
        with self._conversation.busy():
            await self._answer(prompt, origin=origin)

    async def _answer(self, prompt: Prompt, *, origin: dict[str, str] | None) -> None:
        if not self._has_started:
            self._has_started = True
            await self._start()
        if origin is not None or not prompt.text.startswith("/"):
            if prompt.wants_answer:
                await self._conversation.turn(prompt, origin=origin)
            else:
                await self._conversation.add_aside(prompt)
            return
        name, _, arguments = prompt.text.strip().partition(" ")
        if name == "/compact":
            await self._conversation.compact_turn(prompt, arguments)
        elif name == "/context":
            self._conversation.answer_locally(prompt, self._conversation.context_text())
        elif not name.startswith("/mcp__") or not await self._has_run_prompt(prompt):
            await self._skill_turn(prompt)

    async def _has_run_prompt(self, prompt: Prompt) -> bool:
        """Run the prompt of an MCP server; return whether there is one of that name."""
        try:
            expanded = await self._expand_prompt(prompt.text.strip())
        except UserError as error:
            text = f"<local-command-stderr>Error: {error.message}</local-command-stderr>"
            self._conversation.answer_locally(prompt, text, result="", is_replayed=True)
            return True
        if expanded is None:
            return False
        from bridle.agent.skills.slash_commands import called

        name, blocks = expanded
        shown = called(name, prompt.text.strip().removeprefix(f"/{name}").strip())
        await self._conversation.turn(prompt, skill=SkillCall(shown, blocks))
        return True

    async def _skill_turn(self, prompt: Prompt) -> None:
        from bridle.agent.skills.slash_commands import ExpandedPrompt, LocalAnswer, expand_slash_command

        session_id = self._conversation.log.session.id
        expansion = await expand_slash_command(
            prompt.text.strip(), self._skills, session_id=session_id, inline=self._inline, others=COMMANDS
        )
        match expansion:
            case LocalAnswer():
                self._conversation.answer_locally(prompt, expansion.text, is_error=expansion.is_error)
            case ExpandedPrompt():
                shown, *bodies = expansion.texts
                setup, skill = self._conversation.setup, expansion.skill
                with allowed(setup, self._rules_of(skill)), with_model(setup, self._model_of(skill)):
                    await self._conversation.turn(
                        prompt, skill=SkillCall(shown, "\n".join(bodies), f"{skill.source}Settings")
                    )
            case None:
                await self._conversation.turn(prompt)

    async def _next(self, *, listens: bool) -> tuple[Prompt, dict[str, str] | None] | None:
        """Wait for the next message of the user, or for a notice of the background; None at the end."""
        loop, deadline = asyncio.get_running_loop(), None
        is_idle = self._conversation.last is None
        while not self._is_over:
            if (begun := self._conversation.background.take_turn()) is not None:
                return Prompt(begun[0]), begun[1]
            if self._inbox.messages:
                return self._take_queued(is_idle=is_idle), None
            if self._inbox.at_end or not listens:
                if self._background.running_agents:
                    deadline = None
                else:
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

    def _take_queued(self, *, is_idle: bool) -> Prompt:
        """Return the first message when idle; messages that were queued during a turn are merged into one.

        One that wants no answer is taken alone.
        """
        waiting = self._inbox.messages
        if is_idle or not waiting[0].wants_answer:
            return waiting.popleft()
        queued = []
        while waiting and waiting[0].wants_answer:
            queued.append(waiting.popleft())
        for prompt in queued[:-1]:  # the merged message has the id of the last one
            self._conversation.acknowledge(prompt)
        return merge(queued)

"""The requests of a conversation to the model, and what they use."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from functools import partial
from typing import cast

import msgspec

from bridle.agent.compaction.compact_history import Compactor, Trigger
from bridle.agent.conversation.compact import LogCompaction, ask_for_blocks, ask_for_text
from bridle.agent.conversation.message_log import MessageLog
from bridle.agent.conversation.model_setup import ConversationOptions, ModelSetup, PromptSource, RequestHead
from bridle.agent.conversation.session_hooks import SessionHooks
from bridle.agent.conversation.turn_result import Totals
from bridle.agent.hooks import prompt_hook
from bridle.agent.hooks.definitions import PromptHook
from bridle.agent.model.api.models import CHAT_KIND, Model, resolve_model
from bridle.agent.model.api.question import Block, Message, Question, Usage
from bridle.agent.model.api.stream_pieces import AnswerPiece, ModelClient
from bridle.agent.sessions.api_messages import blocks_of, text_block
from bridle.agent.sessions.valid_history import valid_history
from bridle.agent.tools.toolbox import Toolbox
from bridle.errors import ModelFailure

# What an endpoint answers that does not know a field of the request.
_BAD_REQUEST = 400


class ContextParts(msgspec.Struct, frozen=True):
    """What the next request sends, and how full the window was with the last one."""

    head: RequestHead
    skill_listing: str | None
    tools: list[Block]
    messages: list[Message]
    used_tokens: int
    usage: Usage
    """The usage of the newest answer, or an empty one."""
    compaction_threshold: int
    compacts: bool
    """Whether the conversation is compacted at that number of tokens."""


class ModelRequests:
    """Sends the requests of one conversation and counts their usage."""

    def __init__(
        self,
        *,
        log: MessageLog,
        setup: ModelSetup,
        options: ConversationOptions,
        prompt: PromptSource,
        toolbox: Toolbox,
        compactor: Compactor,
        connect: Callable[[], Awaitable[ModelClient]],
        hooks: SessionHooks | None = None,
        on_compacted: Callable[[], None] = lambda: None,
        totals: Totals | None = None,
        model_for: Callable[[ModelSetup], Model] = lambda setup: setup.model,
        resolve: Callable[[str], Model] = lambda name: resolve_model(name, {}),
    ) -> None:
        """`on_compacted` runs after a summary has replaced messages; a sub-agent counts in its session's `totals`.

        `model_for` returns the model of the next request, which may depend on the permission mode; `resolve` that of a
        name.
        """
        self._model_for, self._resolve = model_for, resolve
        self._log, self._setup, self._options, self._prompt, self._toolbox = log, setup, options, prompt, toolbox
        self._connect, self._hooks, self._on_compacted = connect, hooks, on_compacted
        self._compaction = LogCompaction(log, compactor, self._count_cost)
        self._client: ModelClient | None = None
        self._head = RequestHead([], [])
        self.totals = totals or Totals()

    @property
    def used_tokens(self) -> int:
        """About how many tokens of the context window are used."""
        return self._compaction.used_tokens

    async def context(self) -> ContextParts:
        """Return what fills the context window."""
        compaction = self._compaction
        return ContextParts(
            head=self._head if self._client is not None else await self._prompt.head(),
            skill_listing=self._listing() or None,
            tools=self._toolbox.definitions(),
            messages=list(self._log.messages),
            used_tokens=self.used_tokens if compaction.usage else 0,
            usage=compaction.usage,
            compaction_threshold=compaction.threshold(self._setup.model),
            compacts=compaction.is_on,
        )

    async def answer(self, tool_choice: dict[str, str] | None) -> AsyncGenerator[AnswerPiece, None]:
        """Send the history and yield the pieces of the answer; compact first if the window is full."""
        client = await self._connected()
        if self._compaction.is_due(self._setup.model):
            await self.compact("auto")
        if self._prompt.before_request is not None:
            await self._prompt.before_request()
        stream = cast("AsyncGenerator[AnswerPiece, None]", client.answer(self._question(tool_choice)))
        try:
            async for piece in stream:
                yield piece
        finally:
            await stream.aclose()

    async def compact(
        self, trigger: Trigger, instructions: str = "", *, before_boundary: Callable[[], None] = lambda: None
    ) -> str | None:
        """Replace older messages by a summary; return None, or why it failed."""
        client = await self._connected()
        if self._hooks is not None:
            await self._hooks.before_compaction(trigger, instructions)
        problem = await self._compaction.compact(
            client,
            self._question(),
            trigger,
            instructions,
            before_boundary=before_boundary,
            on_summary=partial(self._run_compaction_hooks, trigger),
        )
        if problem is None:
            self._on_compacted()
        return problem

    async def ask_once(self, model: Model, question: str) -> str:
        """Ask a model a question outside the conversation; its cost counts."""
        request = Question(
            model=model,
            messages=({"role": "user", "content": question},),
            thinking_tokens=0,
            fallbacks=self._options.fallbacks,
            session_id=self._log.session.id,
        )
        return await ask_for_text(await self._connected(), request, self._count_cost)

    async def ask_server_tool(self, system: str, question: str, tool: Block) -> list[Block]:
        """Have the endpoint use one of its own tools outside the conversation; the cost of the answer counts."""
        request = Question(
            model=self._model_for(self._setup),
            messages=({"role": "user", "content": question},),
            system=(text_block(system),),
            tools=(tool,),
            thinking_tokens=0,
            effort=self._options.effort,
            tool_choice={"type": "tool", "name": tool["name"]},
            fallbacks=self._options.fallbacks,
            session_id=self._log.session.id,
            is_cached=False,
        )
        return await ask_for_blocks(await self._connected(), request, self._count_cost)

    async def ask_hook(self, hook: PromptHook, event: str, text: str, *, log: MessageLog | None = None) -> str:
        """Ask the question of a prompt hook, for the end of a turn with the conversation; its cost counts.

        `log` has the conversation of the sub-agent that the event is about.
        """
        with_conversation = event in prompt_hook.STOPS
        conversation = (log or self._log).messages if with_conversation else ()
        system = prompt_hook.SYSTEM + (prompt_hook.OF_CONVERSATION if with_conversation else "")
        request = Question(
            model=self._setup.model if hook.model is None else self._resolve(hook.model),
            messages=(*conversation, {"role": "user", "content": text}),
            system=(text_block(system),),
            thinking_tokens=0,
            effort=self._options.effort,
            answer_format=prompt_hook.FORMAT,
            fallbacks=self._options.fallbacks,
            session_id=self._log.session.id,
        )
        client = await self._connected()
        try:
            return await ask_for_text(client, request, self._count_cost)
        except ModelFailure as failure:
            if failure.status != _BAD_REQUEST:
                raise
        # An endpoint that knows no form of answers: the system prompt asks for it too.
        return await ask_for_text(client, msgspec.structs.replace(request, answer_format=None), self._count_cost)

    async def _run_compaction_hooks(self, trigger: str, summary: str) -> None:
        if self._hooks is not None:
            await self._hooks.after_compaction(trigger, self._setup.model.shown, summary)

    def count(self, model: str, usage: Usage) -> None:
        """Count the usage of an answer in the conversation."""
        self._count_cost(model, usage)
        self._compaction.note_usage(usage)

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()

    async def client(self) -> ModelClient:
        """Return the client, which sub-agents share; the first call connects."""
        return await self._connected()

    async def _connected(self) -> ModelClient:
        """Return the client; the first call connects and reads the prompt."""
        if self._client is None:
            self._client = await self._connect()
            self._head = await self._prompt.head()
        return self._client

    def _question(self, tool_choice: dict[str, str] | None = None) -> Question:
        return Question(
            model=self._model_for(self._setup),
            messages=tuple(self._messages()),
            system=tuple(self._head.system),
            tools=tuple(self._toolbox.definitions()),
            # The API refuses thinking with a forced tool.
            thinking_tokens=0 if tool_choice is not None else self._setup.thinking_tokens,
            thinking_display=self._options.thinking_display,
            task_budget=self._options.task_budget,
            effort=self._options.effort,
            tool_choice=tool_choice,
            fallbacks=self._options.fallbacks,
            session_id=self._log.session.id,
        )

    def _listing(self) -> str:
        """Return what the model can start: agents and skills."""
        return "\n\n".join(text for make in self._prompt.listings if (text := make()))

    def _messages(self) -> list[Message]:
        """Return a valid history; the reminder is before the first user message, what the model can start after it."""
        messages = self._log.messages
        if not messages or messages[0]["role"] != "user":  # the first message of a host may have had no block
            messages = [{"role": "user", "content": []}, *messages]
        first, *rest = messages
        opened: Message = {
            "role": first["role"],
            "content": [*self._head.reminder, *blocks_of(first["content"])],
        }
        listing = self._listing()
        listed: list[Message] = [{"role": "system", "content": listing}] if listing else []
        return valid_history([opened, *listed, *rest])

    def _count_cost(self, model: str, usage: Usage) -> None:
        """Add an answer to the totals; the current model is counted under the name that `init` shows."""
        current = self._model_for(self._setup)
        if model in ("", current.id):
            counted = current
        elif current.kind is CHAT_KIND:
            counted = msgspec.structs.replace(current, id=model, shown=model)
        else:
            counted = resolve_model(model, {})
        self.totals.ledger.add(counted, usage)

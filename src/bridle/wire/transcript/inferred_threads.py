"""The sub-agent of each event in a stream that names none (`parent_tool_use_id` is missing or always null).

While a call of a sub-agent has no result, the main agent waits: only blocks of the message with that call are the main
agent's. Of several sub-agents, the one is chosen that continues its message, that a progress event has just named, or
whose description or prompt shares the most words with the event; else the one that has waited for its turn longest.
"""

from __future__ import annotations

import re
from collections import Counter

from msgspec import Struct, field
from msgspec.structs import replace

from bridle.wire.events.blocks import Text, Thinking, ToolResult, ToolUse
from bridle.wire.events.decode_tolerant import convert
from bridle.wire.events.events import Assistant, User
from bridle.wire.events.system import TaskProgress
from bridle.wire.record.recorder import SUB_AGENT_TOOLS, AgentArguments

_WORD = re.compile(r"\w{3,}")
# Of one text: enough words to recognise a subject, and linear time whatever the text's size.
_READ_CHARACTERS = 4000


class _SubAgent(Struct):
    """A sub-agent that has not reported yet."""

    parent: str | None
    arguments: AgentArguments
    ready_since: int
    words: set[str]
    """The words of its description and its prompt."""
    unanswered: set[str] = field(default_factory=set)
    """The ids of its calls without a result: while there are any, it prints nothing."""


class InferredThreads:
    """The sub-agents that run, and which of them printed what."""

    def __init__(self) -> None:
        self._running: dict[str, _SubAgent] = {}
        self._caller: dict[str, str] = {}
        self._message_threads: dict[str, str | None] = {}
        self._announced: str | None = None
        self._are_named = False
        self._count = 0

    def place_answer(self, event: Assistant) -> Assistant:
        """Return the event with its sub-agent, where that must be inferred."""
        if self._is_known(event):
            return event
        thread = self._thread_of(event) if self._running else None
        for block in event.message.blocks:
            if isinstance(block, ToolUse):
                self._start_call(block, thread)
        if self._running and event.message.id is not None:
            self._message_threads[event.message.id] = thread
        return event if thread is None else replace(event, parent_tool_use_id=thread)

    def place_result(self, event: User) -> User:
        """Return the event with its sub-agent, where that must be inferred."""
        if self._is_known(event) or not self._running:
            return event
        threads = [self._end_call(block) for block in event.message.blocks if isinstance(block, ToolResult)]
        thread = threads[0] if threads else self._prompted(event)
        return event if thread is None else replace(event, parent_tool_use_id=thread)

    def note_progress(self, event: TaskProgress) -> None:
        """Note that a sub-agent has made progress: its call is printed next."""
        self._announced = event.tool_use_id

    def end_turn(self) -> None:
        """Forget the sub-agents: none of them outlives the turn or its interruption."""
        self._running.clear()
        self._caller.clear()
        self._message_threads.clear()

    def _is_known(self, event: Assistant | User) -> bool:
        self._are_named = self._are_named or bool(event.parent_tool_use_id)
        return self._are_named

    def _thread_of(self, event: Assistant) -> str | None:
        message_id, blocks = event.message.id, event.message.blocks
        if message_id is not None and message_id in self._message_threads:
            return self._message_threads[message_id]
        announced, self._announced = self._announced, None
        if announced in self._running:
            return announced
        if message_id is None and all(_is_start(block) for block in blocks):
            return self._running[next(reversed(self._running))].parent  # started beside the one before
        described = [call_id for call_id, agent in self._running.items() if _is_described(agent, event)]
        return self._closest(described or list(self._running), _words_of(event))

    def _closest(self, call_ids: list[str], words: set[str]) -> str:
        """Return the sub-agent that shares words with the event, else the one that is silent for the longest time."""
        owners = Counter(word for agent in self._running.values() for word in agent.words & words)

        def rank(call_id: str) -> tuple[float, bool, int]:
            agent = self._running[call_id]
            own = sum(1 / owners[word] for word in agent.words & words if owners[word] < len(self._running))
            return -own, bool(agent.unanswered), agent.ready_since

        return min(call_ids, key=rank)

    def _start_call(self, block: ToolUse, thread: str | None) -> None:
        agent = self._running.get(thread or "")
        if thread is not None and agent is not None:
            agent.unanswered.add(block.id)
            self._caller[block.id] = thread
        if not _is_start(block):
            return
        arguments = convert(block.arguments, AgentArguments)
        if not arguments.run_in_background:
            words = _words(f"{arguments.prompt} {arguments.description}")
            self._running[block.id] = _SubAgent(thread, arguments, self._next_count(), words)

    def _end_call(self, block: ToolResult) -> str | None:
        """Return the sub-agent whose call this is the result of."""
        self._running.pop(block.tool_use_id, None)
        thread = self._caller.pop(block.tool_use_id, None)
        agent = self._running.get(thread or "")
        if agent is None:
            return None
        agent.unanswered.discard(block.tool_use_id)
        agent.ready_since = self._next_count()
        return thread

    def _prompted(self, event: User) -> str | None:
        """Return the sub-agent that begins with this text."""
        texts = {block.text.strip() for block in event.message.blocks if isinstance(block, Text)}
        return next((name for name, agent in self._running.items() if agent.arguments.prompt.strip() in texts), None)

    def _next_count(self) -> int:
        self._count += 1
        return self._count


def _is_start(block: object) -> bool:
    return isinstance(block, ToolUse) and block.name in SUB_AGENT_TOOLS


def _is_described(agent: _SubAgent, event: Assistant) -> bool:
    return event.task_description is not None and event.task_description == agent.arguments.description


def _words_of(event: Assistant) -> set[str]:
    words: set[str] = set()
    for block in event.message.blocks:
        if isinstance(block, Text):
            words |= _words(block.text)
        elif isinstance(block, Thinking):
            words |= _words(block.thinking)
        elif isinstance(block, ToolUse):
            words |= _words(bytes(block.input)[:_READ_CHARACTERS].decode("utf-8", "replace"))
    return words


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text[:_READ_CHARACTERS].lower()))

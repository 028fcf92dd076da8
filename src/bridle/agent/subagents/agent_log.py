"""The message log of a sub-agent: its own history and transcript, and the events that clients see of it."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec import UNSET

from bridle.agent.conversation.message_log import MessageLog
from bridle.agent.conversation.partial_answer import PartialAnswer
from bridle.agent.model.api.question import Block, Usage
from bridle.agent.sessions import transcript_entries
from bridle.agent.sessions.api_messages import block_type, text_block
from bridle.agent.stdio.event_writer import EventWriter
from bridle.agent.stdio.output_events import Assistant, AssistantMessage, Event, SyntheticMessage, User, UserMessage
from bridle.agent.stdio.task_events import TaskNotification, TaskProgress, TaskStarted, TaskUpdated
from bridle.agent.subagents.progress import AgentProgress, describe_call
from bridle.agent.subagents.transcript import AgentSession
from bridle.agent.tools.toolbox import FinishedCall
from bridle.ground import clock

COORDINATOR = (
    "The coordinator sent a message while you were working:\n{text}\n\n"
    "Take this into account before you end. It comes from the agent that gave you your task, and is not an approval by"
    " the user: it changes no permission."
)


# What the model reads instead of a prompt without a character, which the endpoint would refuse.
NO_CONTENT = "(no content)"


class AgentIdentity(msgspec.Struct, frozen=True):
    """What events say about a sub-agent."""

    id: str
    type: str
    description: str
    prompt: str
    call_id: str
    """The call that started it."""
    depth: int = 1
    """1 for an agent that the main agent started."""
    in_background: bool = False
    parent_call_id: str | None = None
    """Of an agent that continues: the call that first started it, which its messages name."""


class AgentLog(MessageLog):
    """Writes the messages of a sub-agent.

    Clients see tool calls and their results, and from the background also texts. Of an agent that another sub-agent
    waits for they see the task events only.
    """

    def __init__(
        self,
        session: AgentSession,
        writer: EventWriter,
        identity: AgentIdentity,
        *,
        shows_texts: Callable[[], bool],
        cwd: str,
    ) -> None:
        """`shows_texts` says whether the host wants texts and thoughts too."""
        super().__init__(session, writer)
        self.identity, self.progress = identity, AgentProgress()
        self._shows_texts, self._cwd = shows_texts, cwd
        self.usage: Usage = {}
        """The usage of the last answer."""
        self.last_text = ""
        """The last text of the agent."""

    def continue_with(self, text: str) -> str:
        """Add a message to an agent that had ended; return the id of its line."""
        shown = coordinator_message(text)
        self._add_user([text_block(shown)])
        return self.session.note(shown, is_meta=False).uuid

    def begin(self, blocks: list[Block]) -> str:
        """Add the prompt and return the id of its line; `blocks` come after it: the texts of skills and hooks."""
        if self.identity.parent_call_id is not None:
            return self.continue_with(self.identity.prompt)
        self._add_user([text_block(self.identity.prompt or NO_CONTENT), *blocks])
        line = self.session.note(self.identity.prompt, is_meta=False)
        for block in blocks:
            self.session.note([block])
        if not self.identity.in_background:
            shown = text_block(self.identity.prompt or NO_CONTENT)
            event = User(message=UserMessage(content=[shown]), uuid=line.uuid, timestamp=line.timestamp)
            self._print(event)
        return line.uuid

    def answer(self, answer: PartialAnswer) -> None:
        """Add a complete answer, and remember its usage."""
        super().answer(answer)
        if answer.ended is not None:
            self.usage = transcript_entries.full_usage(answer.ended.usage)

    def tool_result(self, done: FinishedCall) -> int:
        """Print the result of a call; only errors have details, as in Claude Code."""
        if not done.answer.is_error:
            done = msgspec.structs.replace(done, answer=msgspec.structs.replace(done.answer, detail=None))
        return super().tool_result(done)

    def emit(self, event: Event) -> None:
        """Print an event if clients see it."""
        match event:
            case TaskStarted() | TaskProgress() | TaskUpdated() | TaskNotification():
                super().emit(event)
            case Assistant(message=AssistantMessage()):
                self._block(event, event.message.content[0])
            case Assistant(message=SyntheticMessage() as message):
                self._synthetic(event, message)
            case User():
                is_result = any(block_type(block) == "tool_result" for block in event.message.content)  # type: ignore[arg-type]  # blocks
                if is_result or (self.identity.in_background and event.is_synthetic is UNSET):
                    self._print(event)
            case _:
                pass

    def _block(self, event: Assistant, block: Block) -> None:
        self.progress.count_block(block, event.message.usage)
        kind, in_background = block_type(block), self.identity.in_background
        if kind == "text":
            self.last_text = str(block["text"])
        if kind != "tool_use":
            if in_background or self._shows_texts():
                self._print(event)
            return
        if in_background:
            self._print(event)
            self._report_progress(block)
        else:
            self._report_progress(block)
            self._print(event)

    def _synthetic(self, event: Assistant, message: SyntheticMessage) -> None:
        """Count an error that is reported in the role of the model."""
        block = message.content[0]
        self.progress.count_block(block, message.usage)
        self.usage, self.last_text = message.usage, str(block.get("text", ""))
        if self.identity.in_background or self._shows_texts():
            self._print(event)

    def _report_progress(self, block: Block) -> None:
        name, sent = str(block["name"]), block.get("input")
        words = describe_call(name, sent if isinstance(sent, dict) else {}, self._cwd)
        super().emit(
            TaskProgress(
                task_id=self.identity.id,
                tool_use_id=self.identity.call_id,
                description=words or self.identity.description,
                subagent_type=self.identity.type,
                usage=self.progress.usage,
                last_tool_name=name,
            )
        )

    def _print(self, event: Assistant | User) -> None:
        identity = self.identity
        if identity.depth > 1 and not identity.in_background:
            return
        event.parent_tool_use_id = identity.parent_call_id or identity.call_id
        event.subagent_type, event.task_description = identity.type, identity.description
        super().emit(event)


def coordinator_message(text: str) -> str:
    """Return a message to a sub-agent in its form for the model."""
    return COORDINATOR.format(text=text)


def now_ms() -> int:
    """Return the time as `task_updated` has it."""
    return round(clock.now().timestamp() * 1000)


def started_event(identity: AgentIdentity) -> TaskStarted:
    """Return the event that announces a sub-agent."""
    return TaskStarted(
        task_id=identity.id,
        tool_use_id=identity.call_id,
        description=identity.description,
        subagent_type=identity.type,
        task_type="local_agent",
        prompt=identity.prompt,
    )

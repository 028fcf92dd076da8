"""What a conversation is made of: one frozen value for each thing that a person can see in it."""

from __future__ import annotations

from enum import StrEnum
from typing import TypeAlias

import msgspec

from bridle.wire.transcript.prose_and_code import Code, Prose, split_code


class State(StrEnum):
    """How far a tool call has come."""

    RUNNING = "running"
    OK = "ok"
    ERROR = "error"
    DENIED = "denied"
    INTERRUPTED = "interrupted"


class Speaker(StrEnum):
    """Who said something."""

    AGENT = "agent"
    USER = "user"
    PROGRAM = "program"  # the agent's program put it into the conversation
    STRAY = "stray"  # a line that is not JSON: something else wrote into the stream


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """One thing in the conversation. `at` is its arrival in seconds, where that is known."""

    id: int
    thread: str | None = None
    """The id of the sub-agent's tool call; None is the agent itself."""
    at: float | None = None
    message_id: str | None = None
    """Items of one answer share it."""


class Words(Item, frozen=True, kw_only=True):
    """Something that was said."""

    text: str = ""
    speaker: Speaker = Speaker.AGENT
    live: bool = False
    """Whether more of it is still to come."""
    omitted_characters: int = 0

    @property
    def parts(self) -> tuple[Prose | Code, ...]:
        """The words and the fenced code in it."""
        return split_code(self.text)


class Thought(Item, frozen=True, kw_only=True):
    """The model's reasoning."""

    text: str = ""
    live: bool = False
    omitted_characters: int = 0


class FileChange(msgspec.Struct, frozen=True, kw_only=True):
    """What a tool did to a file, as the lines of a unified diff."""

    path: str = ""
    action: str = "edit"
    lines: tuple[str, ...] = ()
    added: int = 0
    removed: int = 0
    omitted_lines: int = 0


class Todo(msgspec.Struct, frozen=True):
    """One entry of a todo list."""

    text: str
    status: str = "pending"
    id: str | None = None


class TodoList(msgspec.Struct, frozen=True):
    """The todo list as it stood after a tool call."""

    todos: tuple[Todo, ...] = ()
    omitted: int = 0


class Option(msgspec.Struct, frozen=True):
    """One answer that a question offers."""

    label: str
    description: str = ""


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A question to the user; `answer` is None as long as nobody answered."""

    text: str = ""
    header: str = ""
    options: tuple[Option, ...] = ()
    several: bool = False
    answer: str | None = None


class Questions(msgspec.Struct, frozen=True):
    """The questions of one tool call."""

    questions: tuple[Question, ...] = ()


class SubAgent(msgspec.Struct, frozen=True, kw_only=True):
    """A sub-agent. Its thread has the id of its tool call; its status is the state of that call."""

    kind: str = ""
    description: str = ""
    prompt: str = ""
    report: str = ""
    model: str | None = None
    doing: str = ""
    tool_uses: int | None = None
    tokens: int | None = None


Detail: TypeAlias = FileChange | TodoList | Questions | SubAgent


class Call(Item, frozen=True, kw_only=True):
    """A tool call with its result, joined by the call's id."""

    call_id: str = ""
    name: str = ""
    """Empty where only the result was seen."""
    summary: str = ""
    input: str = ""
    input_omitted: int = 0
    state: State = State.RUNNING
    output: str = ""
    omitted_characters: int = 0
    omitted_lines: int = 0
    seconds: float | None = None
    background: bool = False
    """Whether it works on while the conversation goes on."""
    detail: Detail | None = None


class NoticeKind(StrEnum):
    """What a notice is about."""

    SESSION = "session"
    RETRY = "retry"
    RATE_LIMIT = "rate limit"
    COMPACTION = "compaction"
    HOOK = "hook"
    TASK = "background task"
    PERMISSION = "permission"
    INTERRUPT = "interrupt"
    PROGRAM = "program"


class Notice(Item, frozen=True, kw_only=True):
    """What the agent's program says about itself."""

    kind: NoticeKind = NoticeKind.PROGRAM
    text: str = ""
    state: State | None = None
    """For what has a beginning and an end of its own, such as a hook."""


class Failure(Item, frozen=True, kw_only=True):
    """An error: of a request to the model, or a line of the protocol that cannot be read."""

    name: str = ""
    text: str = ""
    omitted_characters: int = 0


class Chip(Item, frozen=True, kw_only=True):
    """Something that this version does not know, as it was sent."""

    kind: str = ""
    raw: str = ""
    omitted_characters: int = 0


class Tokens(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens of a turn; `input` leaves out what the cache read or wrote, as the agent counts."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_written: int = 0


class Denial(msgspec.Struct, frozen=True, kw_only=True):
    """A tool call that was refused."""

    tool: str = ""
    call_id: str = ""


class Footer(Item, frozen=True, kw_only=True):
    """The end of a turn. Cost runs on over a process; turns, time and tokens are those of the turn."""

    subtype: str = ""
    failed: bool = False
    text: str = ""
    """The result's text, only where nobody said it before."""
    errors: tuple[str, ...] = ()
    cost_usd: float | None = None
    turns: int | None = None
    seconds: float | None = None
    tokens: Tokens | None = None
    denials: tuple[Denial, ...] = ()
    api_error_status: int | None = None
    terminal_reason: str | None = None
    stop_reason: str | None = None
    earlier_turns: int = 0
    """How many turns of the same process ended before: then the cost is that of all of them."""
    from_background: bool = False
    """Whether a finished background task, not the user, began this turn."""


AnyItem: TypeAlias = Words | Thought | Call | Notice | Failure | Chip | Footer

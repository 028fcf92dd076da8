"""The items of a conversation: one frozen struct for each thing that a view shows."""

from __future__ import annotations

from enum import StrEnum
from typing import TypeAlias

import msgspec

from bridle.wire.transcript.prose_and_code import Code, Prose, split_code


class State(StrEnum):
    """The state of a tool call."""

    RUNNING = "running"
    OK = "ok"
    ERROR = "error"
    DENIED = "denied"
    INTERRUPTED = "interrupted"
    UNANSWERED = "unanswered"  # its turn succeeded, but the stream has no result of it


class Speaker(StrEnum):
    """The author of a text."""

    AGENT = "agent"
    USER = "user"
    PROGRAM = "program"  # inserted by the agent program
    STRAY = "stray"  # a line that is not JSON, written into the stream by something else


class Item(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """One thing in the conversation; `at` is its arrival in seconds, if known."""

    id: int
    thread: str | None = None
    """The id of the sub-agent's tool call; None for the main agent."""
    at: float | None = None
    message_id: str | None = None
    """The id that the items of one answer share."""


class ImageRef(msgspec.Struct, frozen=True, kw_only=True):
    """An image whose bytes are in the log."""

    media_type: str = ""
    """As the agent names it; empty if it names none."""
    size_bytes: int = 0
    digest: str = ""
    """The SHA-256 of the bytes in hex; empty if the log does not have them."""


class TextItem(Item, frozen=True, kw_only=True, tag="text"):
    """A text of the agent, the user or a program."""

    text: str = ""
    speaker: Speaker = Speaker.AGENT
    live: bool = False
    """Whether it is unfinished."""
    omitted_characters: int = 0
    images: tuple[ImageRef, ...] = ()

    @property
    def parts(self) -> tuple[Prose | Code, ...]:
        return split_code(self.text)


class Thought(Item, frozen=True, kw_only=True, tag="thought"):
    """The model's reasoning."""

    text: str = ""
    live: bool = False
    omitted_characters: int = 0


class FileChange(msgspec.Struct, frozen=True, kw_only=True, tag="file_change"):
    """A change to a file, as the lines of a unified diff."""

    path: str = ""
    action: str = "edit"
    lines: tuple[str, ...] = ()
    added: int = 0
    removed: int = 0
    omitted_lines: int = 0


class Todo(msgspec.Struct, frozen=True):
    """One entry of a to-do list."""

    text: str
    status: str = "pending"
    id: str | None = None


class TodoList(msgspec.Struct, frozen=True, tag="todo_list"):
    """The to-do list after a tool call."""

    todos: tuple[Todo, ...] = ()
    omitted: int = 0


class Option(msgspec.Struct, frozen=True):
    """An option of a question."""

    label: str
    description: str = ""


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A question to the user; `answer` is None until it is answered."""

    text: str = ""
    header: str = ""
    options: tuple[Option, ...] = ()
    several: bool = False
    answer: str | None = None


class Questions(msgspec.Struct, frozen=True, tag="questions"):
    """The questions of one tool call."""

    questions: tuple[Question, ...] = ()


class SubAgent(msgspec.Struct, frozen=True, kw_only=True, tag="sub_agent"):
    """A sub-agent; its thread has the id of its tool call, its status is the call's state."""

    kind: str = ""
    description: str = ""
    prompt: str = ""
    report: str = ""
    model: str | None = None
    doing: str = ""
    tool_uses: int | None = None
    tokens: int | None = None
    is_inferred: bool = False
    """Whether the stream does not say what is the sub-agent's: its items are inferred."""


Detail: TypeAlias = FileChange | TodoList | Questions | SubAgent


class Call(Item, frozen=True, kw_only=True, tag="call"):
    """A tool call with its result."""

    call_id: str = ""
    name: str = ""
    """Empty if only the result was seen."""
    summary: str = ""
    input: str = ""
    input_omitted: int = 0
    state: State = State.RUNNING
    output: str = ""
    omitted_characters: int = 0
    omitted_lines: int = 0
    seconds: float | None = None
    background: bool = False
    """Whether it continues in the background."""
    images: tuple[ImageRef, ...] = ()
    """The images in its result; `output` has `[image]` for each."""
    detail: Detail | None = None


class NoticeKind(StrEnum):
    """The subject of a notice."""

    SESSION = "session"
    RETRY = "retry"
    RATE_LIMIT = "rate limit"
    COMPACTION = "compaction"
    HOOK = "hook"
    TASK = "background task"
    PERMISSION = "permission"
    INTERRUPT = "interrupt"
    PROGRAM = "program"


class Notice(Item, frozen=True, kw_only=True, tag="notice"):
    """A message of the agent program about itself."""

    kind: NoticeKind = NoticeKind.PROGRAM
    text: str = ""
    state: State | None = None
    """For things with a start and an end, such as a hook."""


class Failure(Item, frozen=True, kw_only=True, tag="failure"):
    """A failed request to the model, or a line that cannot be decoded."""

    name: str = ""
    text: str = ""
    omitted_characters: int = 0


class UnknownItem(Item, frozen=True, kw_only=True, tag="unknown"):
    """An unknown event or block, as it was sent."""

    kind: str = ""
    raw: str = ""
    omitted_characters: int = 0


class Tokens(msgspec.Struct, frozen=True, kw_only=True):
    """The tokens of a turn; `input` excludes cache reads and writes, as in the agent's counts."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_written: int = 0


class Denial(msgspec.Struct, frozen=True, kw_only=True):
    """A tool call that was refused."""

    tool: str = ""
    call_id: str = ""


class Footer(Item, frozen=True, kw_only=True, tag="footer"):
    """The end of a turn; cost is cumulative over the process, turns, time and tokens are the turn's."""

    subtype: str = ""
    failed: bool = False
    text: str = ""
    """The result's text, unless the conversation shows it already."""
    is_empty: bool = False
    """Whether a turn of the model ended without any text: neither in the result nor before it."""
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
    """The number of earlier turns of the process, whose cost is included."""
    from_background: bool = False
    """Whether a finished background task, not the user, started this turn."""


class ProcessEnd(Item, frozen=True, kw_only=True, tag="process_end"):
    """The end of the agent's process, where it failed or printed no result."""

    is_known: bool = True
    """Whether it is known how the process ended; if not, all that is known is that the log has no result."""
    exit_code: int | None = None
    reason: str = ""
    """Empty if only the exit code says that it failed."""
    stderr: str = ""
    """The end of its standard error."""
    omitted_lines: int = 0
    """The number of lines before it."""


AnyItem: TypeAlias = TextItem | Thought | Call | Notice | Failure | UnknownItem | Footer | ProcessEnd

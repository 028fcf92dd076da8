"""The record: facts folded from the events of one agent run, without judging them.

Memory grows with the words of the answer and with nothing else: not with events, tools or bytes.
What the facts mean is decided in outcome.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any

import msgspec

from bridle.wire.events.events import Usage
from bridle.wire.events.numbers import plausible

MAIN = None  # the thread of the agent itself; a sub-agent's thread is the id of the tool call that began it


class Chunk(msgspec.Struct, frozen=True):
    """One text block of an answer and the thread that said it."""

    text: str
    thread: str | None = MAIN


@dataclass(slots=True)
class Tally:
    """A running count of tokens."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int = 0
    cached_input_tokens: int = 0
    reasoning_output_tokens: int = 0

    def add(self, usage: Usage | Tally) -> None:
        """Count these tokens too."""
        self.input_tokens += usage.input_tokens
        self.output_tokens += usage.output_tokens
        self.cache_creation_input_tokens += usage.cache_creation_input_tokens
        self.cache_read_input_tokens += usage.cache_read_input_tokens
        self.cached_input_tokens += usage.cached_input_tokens
        self.reasoning_output_tokens += usage.reasoning_output_tokens

    def drop_absurd(self) -> Tally:
        """Count nothing where the sum cannot be true; give the tally itself."""
        for counted in fields(self):
            setattr(self, counted.name, plausible(getattr(self, counted.name)) or 0)
        return self


@dataclass(slots=True)
class Answer:
    """The last message of the agent itself: its words, why it stopped, whether it asked the user."""

    message_id: str | None = None
    texts: list[str] = field(default_factory=list)
    stop_reason: str | None = None
    asked_user: bool = False

    @property
    def text(self) -> str:
        """The words of the message."""
        return "\n".join(self.texts)


@dataclass(slots=True)
class Failure:
    """What a turn that ended in an error said of it."""

    text: str | None = None
    subtype: str | None = None
    api_error_status: int | None = None
    notice: str | None = None  # the program's own name for it, from assistant.error


@dataclass(slots=True)
class Record:
    """Facts of one agent run. Filled by a Recorder; read by everybody else."""

    session_id: str | None = None
    other_session_id: str | None = None
    """Another session id that a later init named."""
    model: str | None = None
    version: str | None = None
    cwd: str | None = None
    tools: tuple[str, ...] | None = None
    permission_mode: str | None = None
    api_key_source: str | None = None
    inits: int = 0

    chunks: list[Chunk] = field(default_factory=list)
    answer: Answer = field(default_factory=Answer)

    results: int = 0
    result_text: str | None = None
    """The text of the last result, where it had one."""
    result_subtype: str | None = None
    result_stop_reason: str | None = None
    terminal_reason: str | None = None
    failure: Failure | None = None
    """Set while the last turn that counts ended in an error."""
    structured_output: Any = None
    has_structured_output: bool = False
    permission_denials: list[dict[str, Any]] = field(default_factory=list)

    usage: Tally = field(default_factory=Tally)
    cache_creation: dict[str, Any] | None = None
    """How the cache writes divide by lifetime, where the last result says so."""
    past_usage: Tally = field(default_factory=Tally)
    """Of messages that are over, from the messages themselves."""
    live_usage: dict[str | None, tuple[str | None, Usage]] = field(default_factory=dict)
    """Of the latest message of each thread: its id and usage, which is repeated for each of its blocks."""
    total_cost_usd: float | None = None
    model_usage: dict[str, Any] = field(default_factory=dict)
    num_turns: int | None = None
    duration_ms: float | None = None
    duration_api_ms: float | None = None
    context_tokens: int = 0
    """What the model had before it in its latest main-thread message."""

    api_retries: int = 0
    rate_limit_status: str | None = None
    rate_limit_type: str | None = None
    resets_at: int | None = None
    compactions: int = 0

    tool_uses: int = 0
    tool_results: int = 0
    tool_errors: int = 0
    open_tools: dict[str, str] = field(default_factory=dict)
    """Tool calls without a result yet: id and name."""
    open_tasks: dict[str, str] = field(default_factory=dict)
    """Sub-agents and background commands that the program reported to have begun and not to have ended."""
    background_launches: int = 0
    background_open: dict[str, str] = field(default_factory=dict)
    """Background sub-agents that were started and not seen to end: id and description."""

    events: int = 0
    parse_errors: int = 0
    unknown_events: int = 0
    ignored: int = 0
    """Lines of JSON that are no object, such as a number or a list."""
    malformed: list[str] = field(default_factory=list)
    """The heads of the first few lines that could not be read."""
    notices: list[str] = field(default_factory=list)
    """What the agent program warned of, for the outcome's warnings."""

    @property
    def output(self) -> str:
        """All text blocks, those of sub-agents included."""
        return "\n".join(chunk.text for chunk in self.chunks)

    @property
    def main_thread_text(self) -> str:
        """The text blocks of the agent itself."""
        return "\n".join(chunk.text for chunk in self.chunks if chunk.thread is MAIN)

    @property
    def stop_reason(self) -> str | None:
        """Why the model stopped: real streams name it on the result, others on the message."""
        return self.result_stop_reason or self.answer.stop_reason

    @property
    def usage_estimate(self) -> Tally | None:
        """Tokens counted from the messages themselves, each once: for a run whose result names none."""
        if not self.live_usage and self.past_usage == Tally():
            return None
        total = replace(self.past_usage)
        for _, usage in self.live_usage.values():
            total.add(usage)
        return total.drop_absurd()

    @property
    def context_window(self) -> int | None:
        """The window of the model that ran, where the result names it."""
        windows = [plausible(use.get("contextWindow")) for use in self.model_usage.values() if isinstance(use, dict)]
        return max((window for window in windows if isinstance(window, int) and window > 0), default=None)

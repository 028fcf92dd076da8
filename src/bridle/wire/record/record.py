"""The record: facts folded from the events of one agent run, without a verdict.

Memory does not grow with the number of events or bytes: of very much text the beginning and the end are kept.
The verdict on these facts is in outcome.py.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from bridle.wire.events.decode_tolerant import convert
from bridle.wire.events.events import Usage
from bridle.wire.events.loose_json import JsonObject
from bridle.wire.events.numbers import plausible
from bridle.wire.record.denials import denied_tool
from bridle.wire.record.kept_text import Chunk, KeptText

MAIN = None  # the thread of the agent itself; a sub-agent's thread is the id of the tool call that started it


class Tally(Struct):
    """A running count of tokens."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int = 0
    cached_input_tokens: int = 0
    reasoning_output_tokens: int = 0

    def add(self, usage: Usage | Tally) -> None:
        """Add these tokens."""
        self.input_tokens += usage.input_tokens
        self.output_tokens += usage.output_tokens
        self.cache_creation_input_tokens += usage.cache_creation_input_tokens
        self.cache_read_input_tokens += usage.cache_read_input_tokens
        self.cached_input_tokens += usage.cached_input_tokens
        self.reasoning_output_tokens += usage.reasoning_output_tokens

    def without(self, other: Tally) -> Tally:
        """Return what is more in this tally than in another, each count by itself."""
        names = self.__struct_fields__
        return Tally(**{name: max(getattr(self, name) - getattr(other, name), 0) for name in names})

    @property
    def all_input(self) -> int:
        """All tokens that a model read."""
        return self.input_tokens + self.cache_creation_input_tokens + self.cache_read_input_tokens

    def drop_implausible(self) -> Tally:
        """Set implausible and negative sums to 0; return the tally itself."""
        for name in self.__struct_fields__:
            setattr(self, name, max(plausible(getattr(self, name)) or 0, 0))
        return self


class Answer(Struct):
    """The last message of the main agent: text, stop reason, whether it asked the user."""

    message_id: str | None = None
    kept: KeptText = field(default_factory=lambda: KeptText([]))
    stop_reason: str | None = None
    asked_user: bool = False
    asked: str = ""
    """The questions in the call of the tool that asks the user."""

    @property
    def text(self) -> str:
        """The text of the message."""
        return "\n".join(chunk.text for chunk in self.kept.chunks)

    @property
    def question(self) -> str:
        """What it asked the user, if it asked: with the tool, else in its text."""
        return self.asked or self.text.strip()


class Failure(Struct):
    """The error of a failed turn."""

    text: str | None = None
    subtype: str | None = None
    api_error_status: int | None = None
    notice: str | None = None  # the program's name for the error, from assistant.error
    is_declared: bool = True
    """Whether the result says `is_error: true`; else only its subtype is an error."""


class Record(Struct):
    """The facts of one agent run; only a Recorder writes them."""

    session_id: str | None = None
    other_session_id: str | None = None
    """A different session id of a later init."""
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
    """The text of the last result, if it had one."""
    result_subtype: str | None = None
    result_stop_reason: str | None = None
    terminal_reason: str | None = None
    failure: Failure | None = None
    """Set if the last turn that counts failed."""
    structured_output: Any = None
    has_structured_output: bool = False
    permission_denials: list[Any] = field(default_factory=list)
    """The refused calls, as sent."""
    has_failed: bool = False
    """Whether any result was an error."""
    is_turn_open: bool = False
    """Whether a turn began after the last result and has none of its own, or its last line was cut off."""

    usage: Tally = field(default_factory=Tally)
    cache_creation: JsonObject | None = None
    """The cache writes by lifetime, if the last result has them."""
    past_usage: Tally = field(default_factory=Tally)
    """The tokens of finished messages, counted from the messages."""
    live_usage: dict[str | None, tuple[str | None, Usage]] = field(default_factory=dict)
    """The id and usage of each thread's latest message; usage is repeated for each of its blocks."""
    total_cost_usd: float | None = None
    """The cost of all turns; None where that of one is not known."""
    known_cost_usd: float = 0.0
    """The last total that a result had; a lower bound where the total is not known."""
    model_usage: JsonObject = field(default_factory=dict)
    num_turns: int | None = None
    duration_ms: float | None = None
    duration_api_ms: float | None = None
    context_tokens: int = 0
    """The tokens in the model's context at its latest main-thread message."""

    api_retries: int = 0
    rate_limit_status: str | None = None
    rate_limit_type: str | None = None
    resets_at: int | None = None
    compactions: int = 0

    tool_uses: int = 0
    tool_results: int = 0
    tool_errors: int = 0
    open_tools: dict[str, str] = field(default_factory=dict)
    """Tool calls without a result yet, by id, with their names."""
    open_tasks: dict[str, str] = field(default_factory=dict)
    """Sub-agents and background commands that were reported as started and not as ended."""
    background_launches: int = 0
    background_open: dict[str, str] = field(default_factory=dict)
    """Background sub-agents that have not reported an end, by id, with their descriptions."""

    events: int = 0
    parse_errors: int = 0
    unknown_events: int = 0
    ignored: int = 0
    """Lines of JSON that are not an object, such as a number or a list."""
    malformed: list[str] = field(default_factory=list)
    """The heads of the first few lines that could not be decoded."""
    notices: list[str] = field(default_factory=list)
    """Warnings of the agent program, for the outcome's warnings."""

    @property
    def output(self) -> str:
        """All text blocks, including those of sub-agents."""
        return "\n".join(chunk.text for chunk in self.chunks)

    @property
    def main_thread_text(self) -> str:
        """The text blocks of the main agent."""
        return "\n".join(chunk.text for chunk in self.chunks if chunk.thread is MAIN)

    @property
    def stop_reason(self) -> str | None:
        """Why the model stopped: on the result in real streams, on the message in others."""
        return self.result_stop_reason or self.answer.stop_reason

    @property
    def usage_estimate(self) -> Tally | None:
        """Tokens counted from the messages, each once; for a run whose result has none."""
        if not self.live_usage and self.past_usage == Tally():
            return None
        total = replace(self.past_usage)
        for _, usage in self.live_usage.values():
            total.add(usage)
        return total.drop_implausible()

    @property
    def tokens(self) -> Tally:
        """The tokens of the result and of messages that it leaves out; where it has none, those of all messages."""
        if self.usage == Tally():
            return self.usage_estimate or Tally()
        total = self.uncounted
        total.add(self.usage)
        return total

    @property
    def uncounted(self) -> Tally:
        """The tokens of messages that the results leave out, although they have others.

        Claude Code leaves out the message within which it is interrupted; a turn that was cut off has no result.
        The tokens by model are those of all turns and sub-agents: nothing is compared without them.
        """
        estimate = self.usage_estimate
        is_cut_off = self.has_failed or self.is_turn_open
        if estimate is None or not is_cut_off or not self.model_usage or self.usage == Tally():
            return Tally()
        by_model = Tally()
        for entry in self.model_usage.values():
            by_model.add(convert(entry, _ModelUsage).tally)
        counted = max(self.usage, by_model.drop_implausible(), key=lambda tally: tally.all_input)
        return estimate.without(counted) if estimate.all_input > counted.all_input else Tally()

    @property
    def reported_cost_usd(self) -> float | None:
        """The cost that the agent reported; None where that leaves out messages."""
        return self.total_cost_usd if self.uncounted == Tally() else None

    @property
    def context_window(self) -> int | None:
        """The context window of the model, if the result has it."""
        windows = [plausible(convert(usage, _ModelUsage).context_window) for usage in self.model_usage.values()]
        return max((window for window in windows if isinstance(window, int) and window > 0), default=None)

    @property
    def denied_tools(self) -> list[str]:
        """The names of the tools whose calls were refused, one for each call."""
        return [denied_tool(denial) for denial in self.permission_denials]

    @property
    def usable_session(self) -> str | None:
        """The session to resume next; None if only a failed result without an init names one.

        Claude Code prints such a result where it does not find the session to resume.
        """
        return self.session_id if self.inits or self.failure is None else None


class _ModelUsage(msgspec.Struct, frozen=True):
    input: Any = msgspec.field(default=0, name="inputTokens")
    output: Any = msgspec.field(default=0, name="outputTokens")
    cache_creation: Any = msgspec.field(default=0, name="cacheCreationInputTokens")
    cache_read: Any = msgspec.field(default=0, name="cacheReadInputTokens")
    context_window: Any = msgspec.field(default=None, name="contextWindow")

    @property
    def tally(self) -> Tally:
        """The tokens of the model."""
        counts = (self.input, self.output, self.cache_creation, self.cache_read)
        return Tally(*(int(plausible(count) or 0) for count in counts))

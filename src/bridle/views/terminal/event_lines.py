"""An agent at work, line by line for a person: its words as they come, a line for each tool, what it waits for.

The words of the agent itself are the answer; everything else is said beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from bridle.views.terminal.outcome_summary import harmless
from bridle.wire.events.blocks import Text, ToolResult, ToolUse
from bridle.wire.events.events import Assistant, Event, Malformed, RateLimit, Result, User
from bridle.wire.events.system import ApiRetry, CompactBoundary, Init, TaskStarted
from bridle.wire.mask import Mask
from bridle.wire.record.record import MAIN, Record
from bridle.wire.record.recorder import Recorder
from bridle.wire.transcript.call_summary import summarise
from bridle.wire.transcript.clip import Clip

# The window of a model whose name does not say otherwise; the result names the true one at the end.
USUAL_WINDOW = 200_000
LARGE_WINDOW = 1_000_000
_RESULT_CHARACTERS = 100  # of a tool's answer: its first line, in one line of most terminals
_EXPENSIVE_PERCENT = 1  # context below one percent is not worth a word
# What is news between two results: another tenth of the window, or another ten cents.
_NEWS_PERCENT = 10
_NEWS_USD = 0.10

Print = Callable[[str], None]
Price = Callable[[Record], float | None]


class Live:
    """Shows events one after the other: words through `answer`, everything else through `beside`.

    `price` says what a run has cost so far, where that can be known before its result.
    """

    def __init__(self, *, answer: Print, beside: Print, mask: Mask, price: Price = lambda _record: None) -> None:
        self._answer = answer
        self._beside = beside
        self._price = price
        self._mask = mask
        self._clip = Clip(mask)
        self._tools: dict[str, str] = {}
        self._facts = Recorder()
        self._message_id: str | None = None
        self._told_percent = 0
        self._told_usd = 0.0
        self.has_answered = False
        """Whether any word of the answer was shown."""

    def show(self, event: Event) -> None:
        """Show one event."""
        self._facts.add(event)
        match event:
            case Assistant():
                self._assistant(event)
            case User():
                self._user(event)
            case ApiRetry():
                self._beside(_retry(event))
            case RateLimit():
                self._rate_limit()
            case Init():
                self._init(event)
            case TaskStarted():
                self._beside(self._clean(f"  started: {event.description or event.task_id}"))
            case CompactBoundary():
                self._beside("  older parts of the conversation were replaced by a summary")
            case Malformed():
                self._beside(f"  not JSON: {self._clean(self._clip.line(event.text, _RESULT_CHARACTERS))}")
            case Result():
                self._result()
            case _:
                pass

    def answer(self, text: str) -> None:
        """Show words of the answer."""
        self.has_answered = True
        self._answer(self._clean(text))

    def _init(self, event: Init) -> None:
        parts = {"": event.model, "session ": event.session_id, "permissions ": event.permission_mode}
        known = [name + value for name, value in parts.items() if value]  # other agents say less
        if known and self._facts.record.inits == 1:
            self._beside(self._clean(", ".join(known)))

    def _assistant(self, event: Assistant) -> None:
        indent = "" if event.parent_tool_use_id is MAIN else "    "
        if event.error is None and event.parent_tool_use_id is MAIN:
            self._so_far(event.message.id)
        for block in event.message.blocks:
            if isinstance(block, Text) and block.text.strip():
                if event.error is not None:
                    self._beside(self._clean(f"{indent}  error: {block.text}"))
                elif event.parent_tool_use_id is MAIN:
                    self.answer(block.text)
                else:
                    self._beside(indent + self._clean(block.text))
            elif isinstance(block, ToolUse):
                self._tools[block.id] = block.name
                self._beside(self._clean(f"{indent}> {block.name} {summarise(block.arguments, self._clip)}"))

    def _user(self, event: User) -> None:
        indent = "" if event.parent_tool_use_id is MAIN else "    "
        for block in event.message.blocks:
            if isinstance(block, ToolResult):
                state = "failed" if block.is_error is True else "ok"
                name = self._tools.pop(block.tool_use_id, "?")
                text = _in_one_line(block.text) if block.is_error is True else block.text
                said = self._clip.line(text, _RESULT_CHARACTERS)
                self._beside(self._clean(f"{indent}  {name} {state}: {said}"))

    def _so_far(self, message_id: str | None) -> None:
        """Before each answer but the first: how full the window is and what it cost, where that is news."""
        is_first, is_same = self._message_id is None, self._message_id == message_id
        self._message_id = message_id
        if is_first or is_same:
            return
        record = self._facts.record
        percent, usd = int(context_percent(record)), self._price(record) or 0.0
        if percent // _NEWS_PERCENT == self._told_percent // _NEWS_PERCENT and usd < self._told_usd + _NEWS_USD:
            return
        self._told_percent, self._told_usd = percent, usd
        cost = f", about {usd:.2f} USD" if usd else ""
        self._beside(f"  so far: {_count(record.tool_uses, 'tool call')}, context {percent}%{cost}")

    def _rate_limit(self) -> None:
        record = self._facts.record
        if record.rate_limit_status not in (None, "allowed"):
            until = "" if record.resets_at is None else f", resets at {_moment(record.resets_at)}"
            self._beside(self._clean(f"  rate limit {record.rate_limit_status}{until}"))

    def _result(self) -> None:
        self._beside(self._clean(status_line(self._facts.record)))

    def _clean(self, text: str) -> str:
        return harmless(self._mask.apply(text))


def status_line(record: Record) -> str:
    """Turns, tokens, context and cost so far, in one line."""
    parts = [
        _count(record.num_turns or 0, "turn"),
        f"{record.usage.input_tokens} in",
        f"{record.usage.output_tokens} out",
    ]
    percent = context_percent(record)
    if percent >= _EXPENSIVE_PERCENT:
        parts.append(f"context {percent:.0f}%")
    if record.total_cost_usd is not None:
        parts.append(f"{record.total_cost_usd:.4f} USD")
    return "= " + ", ".join(parts)


def context_percent(record: Record) -> float:
    """How full the model's window is."""
    usual = LARGE_WINDOW if (record.model or "").endswith("[1m]") else USUAL_WINDOW
    return 100.0 * record.context_tokens / (record.context_window or usual)


def _retry(event: ApiRetry) -> str:
    known = event.error not in (None, "unknown")
    why = f"{event.error if known else 'failed'}" + (f" ({event.error_status})" if event.error_status else "")
    wait = f"{(event.retry_delay_ms or 0) / 1000:.1f} s"
    return harmless(f"  request {why}: attempt {event.attempt} of {event.max_retries}, waiting {wait}")


def _moment(seconds: int) -> str:
    """A moment for a person to read; a number that is none stays a number."""
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"
    except (ValueError, OverflowError, OSError):
        return str(seconds)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _in_one_line(text: str) -> str:
    """A failure with its reason: the first line alone is often only an exit code."""
    head, _, rest = text.strip().partition("\n")
    return f"{head}: {rest.lstrip()}" if rest.strip() else head

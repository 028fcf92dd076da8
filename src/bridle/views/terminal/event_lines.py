"""A running agent's events as lines: its text as it arrives, a line for each tool call, retries and limits.

The text of the main agent is the answer; everything else goes to a second output.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from bridle.views.format_amounts import format_count
from bridle.views.terminal.escape_controls import escape_unprintable
from bridle.wire.events.blocks import Text, ToolResult, ToolUse
from bridle.wire.events.events import Assistant, Event, Malformed, RateLimit, Result, User
from bridle.wire.events.system import ApiRetry, CompactBoundary, Init, TaskStarted
from bridle.wire.mask import Mask
from bridle.wire.record.gauge import gauge_of
from bridle.wire.record.record import MAIN, Record
from bridle.wire.record.recorder import Recorder
from bridle.wire.transcript.call_summary import summarize_call
from bridle.wire.transcript.clip import Clip

_RESULT_CHARACTERS = 100  # of a tool result: its first line, in one line of most terminals
_SHOWN_PERCENT = 1  # context below one percent is not shown
# A progress line is printed after another tenth of the window, or another ten cents.
_PROGRESS_PERCENT = 10
_PROGRESS_USD = 0.10

# Printed in a terminal after text of an attempt that crashed.
DROPPED_TEXT = "[the text above is from an attempt that crashed and does not count]"

Print = Callable[[str], None]
Price = Callable[[Record], float | None]


class EventPrinter:
    """A printer of events: the answer's text through `answer`, everything else through `status`.

    With `on_hold` only the answer is printed, by `finish`: a reader of a pipe cannot tell it from the text before it,
    or from that of an attempt that crashed. `on_hold` is called for each text that is held back.
    `price` returns the cost of a run so far, where it can be known before the result.
    """

    def __init__(
        self,
        *,
        answer: Print,
        status: Print,
        mask: Mask,
        price: Price = lambda _record: None,
        on_hold: Callable[[], None] | None = None,
    ) -> None:
        self._answer = answer
        self._on_hold = on_hold
        self._status = status
        self._price = price
        self._mask = mask
        self._clip = Clip(mask)
        self._tools: dict[str, str] = {}
        self._recorder = Recorder()
        self._message_id: str | None = None
        self._shown_percent = 0
        self._shown_usd = 0.0

    def show(self, event: Event) -> None:
        self._recorder.add(event)
        match event:
            case Assistant():
                self._assistant(event)
            case User():
                self._user(event)
            case ApiRetry():
                self._status(f"  {format_retry(event)}")
            case RateLimit():
                self._rate_limit()
            case Init():
                self._init(event)
            case TaskStarted():
                self._status(self._clean(f"  started: {event.description or event.task_id}"))
            case CompactBoundary():
                self._status("  the conversation was compacted: its older part is now a summary")
            case Malformed():
                self._status(f"  not JSON: {self._clean(self._clip.line(event.text, _RESULT_CHARACTERS))}")
            case Result():
                self._result()
            case _:
                pass

    def finish(self, answer: str | None) -> None:
        """Print the answer, unless it was printed as it came; without one, the text that was held back."""
        texts = self._recorder.record.main_thread_text
        if answer is None:
            answer = texts if self._on_hold is not None else ""
        elif self._on_hold is None and answer.strip() in texts:
            return
        if answer.strip():
            self._answer(self._clean(answer))

    def start_again(self) -> None:
        """Drop the attempt so far: the agent crashed and is started again."""
        if self._recorder.record.main_thread_text.strip() and self._on_hold is None:
            self._answer(DROPPED_TEXT)
        self._recorder, self._tools, self._message_id = Recorder(), {}, None
        self._shown_percent, self._shown_usd = 0, 0.0

    def _init(self, event: Init) -> None:
        parts = {"": event.model, "session ": event.session_id, "permissions ": event.permission_mode}
        known = [name + value for name, value in parts.items() if value]  # other agents report less
        if known and self._recorder.record.inits == 1:
            self._status(self._clean(", ".join(known)))

    def _assistant(self, event: Assistant) -> None:
        indent = "" if event.parent_tool_use_id is MAIN else "    "
        if event.error is None and event.parent_tool_use_id is MAIN:
            self._progress(event.message.id)
        for block in event.message.blocks:
            if isinstance(block, Text) and block.text.strip():
                if event.error is not None:
                    self._status(self._clean(f"{indent}  error: {block.text}"))
                elif event.parent_tool_use_id is MAIN:
                    self._text(block.text)
                else:
                    self._status(indent + self._clean(block.text))
            elif isinstance(block, ToolUse):
                self._tools[block.id] = block.name
                self._status(self._clean(f"{indent}> {block.name} {summarize_call(block, self._clip)}"))

    def _text(self, text: str) -> None:
        if self._on_hold is not None:
            self._on_hold()
        else:
            self._answer(self._clean(text))

    def _user(self, event: User) -> None:
        indent = "" if event.parent_tool_use_id is MAIN else "    "
        for block in event.message.blocks:
            if isinstance(block, ToolResult):
                state = "failed" if block.is_error is True else "ok"
                name = self._tools.pop(block.tool_use_id, "?")
                text = _in_one_line(block.text) if block.is_error is True else block.text
                output = self._clip.line(text, _RESULT_CHARACTERS)
                self._status(self._clean(f"{indent}  {name} {state}: {output}"))

    def _progress(self, message_id: str | None) -> None:
        """Print context use and cost before an answer but the first, where they have grown enough."""
        is_first, is_same = self._message_id is None, self._message_id == message_id
        self._message_id = message_id
        if is_first or is_same:
            return
        record = self._recorder.record
        percent, usd = int(gauge_of(record).context_percent), self._price(record) or 0.0
        if (
            percent // _PROGRESS_PERCENT == self._shown_percent // _PROGRESS_PERCENT
            and usd < self._shown_usd + _PROGRESS_USD
        ):
            return
        self._shown_percent, self._shown_usd = percent, usd
        cost = f", about {usd:.2f} USD" if usd else ""
        self._status(f"  so far: {format_count(record.tool_uses, 'tool call')}, context {percent}%{cost}")

    def _rate_limit(self) -> None:
        record = self._recorder.record
        if record.rate_limit_status not in (None, "allowed"):
            until = "" if record.resets_at is None else f", resets at {_format_time(record.resets_at)}"
            self._status(self._clean(f"  rate limit {record.rate_limit_status}{until}"))

    def _result(self) -> None:
        self._status(self._clean(status_line(self._recorder.record)))

    def _clean(self, text: str) -> str:
        return escape_unprintable(self._mask.apply(text))


def status_line(record: Record) -> str:
    """Return turns, tokens, context use and cost so far in one line."""
    parts = [
        format_count(record.num_turns or 0, "turn"),
        f"{record.tokens.input_tokens} in",
        f"{record.tokens.output_tokens} out",
    ]
    percent = gauge_of(record).context_percent
    if percent >= _SHOWN_PERCENT:
        parts.append(f"context {percent:.0f}%")
    if record.total_cost_usd is not None:
        least = "" if record.reported_cost_usd is not None else "at least "
        parts.append(f"{least}{record.total_cost_usd:.4f} USD")
    return "= " + ", ".join(parts)


def format_retry(event: ApiRetry) -> str:
    """Format why a request is sent again, and when."""
    known = event.error not in (None, "unknown")
    reason = f"{event.error if known else 'failed'}" + (f" ({event.error_status})" if event.error_status else "")
    wait = f"{(event.retry_delay_ms or 0) / 1000:.1f} s"
    return escape_unprintable(f"request {reason}: attempt {event.attempt} of {event.max_retries}, waiting {wait}")


def _format_time(seconds: int) -> str:
    """Format a Unix time; a number out of range stays a number."""
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"
    except (ValueError, OverflowError, OSError):
        return str(seconds)


def _in_one_line(text: str) -> str:
    """Join an error's first line, often only an exit code, with the lines after it."""
    head, _, rest = text.strip().partition("\n")
    return f"{head}: {rest.lstrip()}" if rest.strip() else head

"""An agent at work, line by line for a person: its words as they come, a line for each tool, what it waits for.

The words of the agent itself are the answer; everything else is said beside it.
"""

from __future__ import annotations

from collections.abc import Callable

from bridle.views.summary import harmless
from bridle.wire.blocks import Text, ToolResult, ToolUse
from bridle.wire.clip import Clip
from bridle.wire.events import Assistant, Event, Malformed, RateLimit, Result, User
from bridle.wire.mask import Mask
from bridle.wire.record import MAIN, Record
from bridle.wire.recorder import Recorder
from bridle.wire.summary import summarise
from bridle.wire.system import ApiRetry, CompactBoundary, Init, TaskStarted

# The window of a model whose name does not say otherwise; the result names the true one at the end.
USUAL_WINDOW = 200_000
LARGE_WINDOW = 1_000_000
_RESULT_CHARACTERS = 160  # of a tool's answer: its first line
_EXPENSIVE_PERCENT = 1  # context below one percent is not worth a word

Print = Callable[[str], None]


class Live:
    """Shows events one after the other: words through `answer`, everything else through `beside`."""

    def __init__(self, *, answer: Print, beside: Print, mask: Mask) -> None:
        self._answer = answer
        self._beside = beside
        self._mask = mask
        self._clip = Clip(mask)
        self._tools: dict[str, str] = {}
        self._facts = Recorder()
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
        if self._facts.record.inits == 1:
            self._beside(self._clean(f"{event.model}, session {event.session_id}, permissions {event.permission_mode}"))

    def _assistant(self, event: Assistant) -> None:
        indent = "" if event.parent_tool_use_id is MAIN else "    "
        for block in event.message.blocks:
            if isinstance(block, Text) and block.text.strip():
                if event.error is None and event.parent_tool_use_id is MAIN:
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
                said = self._clip.line(block.text, _RESULT_CHARACTERS)
                self._beside(self._clean(f"{indent}  {name} {state}: {said}"))

    def _rate_limit(self) -> None:
        record = self._facts.record
        if record.rate_limit_status not in (None, "allowed"):
            self._beside(self._clean(f"  rate limit {record.rate_limit_status}, resets at {record.resets_at}"))

    def _result(self) -> None:
        self._beside(self._clean(status_line(self._facts.record)))

    def _clean(self, text: str) -> str:
        return harmless(self._mask.apply(text))


def status_line(record: Record) -> str:
    """Turns, tokens, context and cost so far, in one line."""
    parts = [f"{record.num_turns or 0} turns", f"{record.usage.input_tokens} in", f"{record.usage.output_tokens} out"]
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
    why = f"{event.error or 'failed'}" + (f" ({event.error_status})" if event.error_status else "")
    wait = f"{(event.retry_delay_ms or 0) / 1000:.1f} s"
    return harmless(f"  request {why}: attempt {event.attempt} of {event.max_retries}, waiting {wait}")

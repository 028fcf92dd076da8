"""The fold from events to a record: one method for each kind of event that has facts."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Any

from msgspec import Struct

from bridle.wire.events.blocks import Text, ToolResult, ToolUse, UnknownBlock
from bridle.wire.events.decode_tolerant import convert
from bridle.wire.events.events import (
    Assistant,
    Event,
    Ignored,
    Malformed,
    Message,
    RateLimit,
    RateLimitInfo,
    Result,
    Skipped,
    StreamEvent,
    Unknown,
    Usage,
    User,
)
from bridle.wire.events.numbers import MAX_PLAUSIBLE, plausible
from bridle.wire.events.system import (
    ApiRetry,
    CompactBoundary,
    Init,
    Notice,
    TaskNotification,
    TaskStarted,
    TaskUpdated,
)
from bridle.wire.record.denials import denial_entries, denied_call
from bridle.wire.record.kept_text import Chunk, KeptText
from bridle.wire.record.record import MAIN, Answer, Failure, Record, Tally
from bridle.wire.record.result_texts import failure_text, result_text

SUB_AGENT_TOOLS = ("Task", "Agent")  # the tool's name in the list of tools, and in calls
ENDED_TASK = ("completed", "failed", "killed", "stopped")
ASK_TOOL = "AskUserQuestion"
_MALFORMED_KEPT = 3  # enough to see what slipped into the stream
_NOTICES_KEPT = 20  # a warning repeated with small changes must not fill the memory
_MALFORMED_CHARACTERS = 120
_RESET_IN_TEXT = r"\|(\d{10,13})\b"


class AgentArguments(Struct, frozen=True):
    """The input of a call that starts a sub-agent."""

    subagent_type: str = ""
    description: str = ""
    prompt: str = ""
    run_in_background: bool = False


class Recorder:
    """The fold of events into a record."""

    def __init__(self) -> None:
        self.record = Record()
        self._text = KeptText(self.record.chunks)
        self._results_with_init = 0
        self._notice: str | None = None
        self._denied: set[str] = set()
        self._fold: dict[type[Event], Callable[[Any], None]] = {
            Assistant: self._assistant,
            StreamEvent: self._stream_event,
            User: self._user,
            Result: self._result,
            Init: self._init,
            ApiRetry: self._api_retry,
            RateLimit: self._rate_limit,
            CompactBoundary: self._compact_boundary,
            TaskStarted: self._task_started,
            TaskUpdated: self._task_updated,
            TaskNotification: self._task_notification,
            Notice: self._note,
            Skipped: self._skipped,
        }
        # Garbage can be millions of lines: those that follow each other are added at once.
        self._fold_several: dict[type[Event], Callable[[list[Any]], None]] = {
            Malformed: self._malformed,
            Unknown: self._unknown,
            Ignored: self._ignored,
        }

    def add(self, event: Event) -> None:
        self.add_all([event])

    def add_all(self, events: Sequence[Event]) -> None:
        for kind, same_kind in groupby(events, type):
            fold, fold_several = self._fold.get(kind), self._fold_several.get(kind)
            if fold is not None:
                deque(map(fold, same_kind), maxlen=0)
            elif fold_several is not None:
                fold_several(list(same_kind))
        self.record.events += len(events)

    def _init(self, event: Init) -> None:
        record = self.record
        record.inits += 1
        record.is_turn_open = True
        if record.inits > 1:
            if event.session_id is not None and event.session_id != record.session_id:
                record.other_session_id = event.session_id
            return
        record.session_id = event.session_id or record.session_id
        record.model = event.model
        record.version = event.claude_code_version
        record.cwd = event.cwd
        record.tools = event.tools
        record.permission_mode = event.permission_mode
        record.api_key_source = event.api_key_source

    def _assistant(self, event: Assistant) -> None:
        if event.parent_tool_use_id is MAIN:
            self.record.is_turn_open = True
        if event.error is not None:
            self._notice = event.error
            return
        record, message, thread = self.record, event.message, event.parent_tool_use_id
        usage = message.usage
        if usage is not None:
            self._note_usage(thread, message.id, usage)
        answer = None
        if thread is MAIN:
            self._notice = None
            answer = self._continue_answer(message)
            if usage is not None:
                tokens = usage.context_tokens
                record.context_tokens = tokens if -MAX_PLAUSIBLE < tokens < MAX_PLAUSIBLE else 0
        if type(message.content) is str:
            return
        for block in message.content:
            if type(block) is Text or (type(block) is UnknownBlock and block.kind == "text"):
                chunk = Chunk(block.text if type(block) is Text else "", thread)  # empty: a text that is not a string
                self._text.add(chunk)
                if answer is not None:
                    answer.kept.add(chunk)
            elif type(block) is ToolUse:
                self._tool_use(block)
                if answer is not None and block.name == ASK_TOOL:
                    answer.asked_user = True
                    answer.asked = "\n".join(filter(None, (answer.asked, _questions(block.arguments))))

    def _stream_event(self, event: StreamEvent) -> None:
        if event.parent_tool_use_id is MAIN:
            self.record.is_turn_open = True

    def _continue_answer(self, message: Message) -> Answer:
        """Return the answer that a message continues: its blocks arrive as separate events with one id."""
        answer = self.record.answer
        if message.id is None or message.id != answer.message_id:
            answer = self.record.answer = Answer(message.id)
        if message.stop_reason is not None:
            answer.stop_reason = message.stop_reason
        return answer

    def _note_usage(self, thread: str | None, message_id: str | None, usage: Usage) -> None:
        """Record a message's usage, which is repeated for each block: the last one counts, once."""
        live = self.record.live_usage.get(thread)
        if live is not None and (message_id is None or live[0] != message_id):
            self.record.past_usage.add(live[1])
        self.record.live_usage[thread] = (message_id, usage)

    def _tool_use(self, block: ToolUse) -> None:
        self.record.tool_uses += 1
        self.record.open_tools[block.id] = block.name
        if block.name in SUB_AGENT_TOOLS and b"run_in_background" in bytes(block.input):
            arguments = convert(block.arguments, AgentArguments)
            if arguments.run_in_background:
                self.record.background_launches += 1
                self.record.background_open[block.id] = arguments.description

    def _user(self, event: User) -> None:
        if isinstance(event.message.content, str):
            return
        for block in event.message.content:
            if isinstance(block, ToolResult):
                self.record.tool_results += 1
                self.record.tool_errors += block.is_error is True
                self.record.open_tools.pop(block.tool_use_id, None)
                self._close_thread(block.tool_use_id)

    def _close_thread(self, thread: str) -> None:
        live = self.record.live_usage.pop(thread, None)
        if live is not None:
            self.record.past_usage.add(live[1])

    def _result(self, event: Result) -> None:
        record = self.record
        record.results += 1
        record.is_turn_open = False
        is_turn = self._results_with_init < record.inits or record.results == 1
        self._results_with_init += is_turn
        record.session_id = record.session_id or event.session_id
        record.result_subtype = event.subtype
        record.result_stop_reason = event.stop_reason
        record.terminal_reason = event.terminal_reason
        text = record.result_text = result_text(event.result)
        if event.has_failed:
            record.has_failed = True
            record.failure = Failure(
                text=failure_text(event),
                subtype=event.subtype,
                api_error_status=event.api_error_status,
                notice=self._notice,
                is_declared=event.is_error is True,
            )
            record.resets_at = _reset_time(text) or record.resets_at
        elif is_turn:
            record.failure = None
        self._add_numbers(event, is_turn=is_turn)
        if event.structured_output is not None:
            record.structured_output, record.has_structured_output = event.structured_output, True
        self._deny(denial_entries(event.permission_denials))

    def _deny(self, denials: list[Any]) -> None:
        """Add refused calls, each once: a turn lists its own or those of the whole run."""
        for denial in denials:
            call_id = denied_call(denial)
            if call_id is None or call_id not in self._denied:
                self.record.permission_denials.append(denial)
            if call_id is not None:
                self._denied.add(call_id)

    def _add_numbers(self, event: Result, *, is_turn: bool) -> None:
        """Add the figures of a result: usage, turns and time are per turn; cost and usage by model are cumulative.

        A second result without its own init is not a new turn: its figures replace those of the first.
        """
        record = self.record
        earlier = is_turn and record.results > 1
        if event.usage is not None:
            record.usage = record.usage if earlier else Tally()
            record.usage.add(event.usage)
            record.usage.drop_implausible()
            split = event.usage.cache_creation
            record.cache_creation = split if isinstance(split, dict) else None
        turns, milliseconds, cost = map(plausible, (event.num_turns, event.duration_ms, event.total_cost_usd))
        if turns is not None:
            record.num_turns = (record.num_turns or 0) * earlier + turns
        if milliseconds is not None:
            record.duration_ms = (record.duration_ms or 0) * earlier + milliseconds
        record.duration_api_ms = plausible(event.duration_api_ms)
        if cost is not None and cost >= 0 and not (cost == 0 and self._has_uncounted_tokens()):
            record.total_cost_usd = record.known_cost_usd = max(cost, record.known_cost_usd)
        elif earlier:
            record.total_cost_usd = None  # that of this turn is not known
        if isinstance(event.model_usage, dict):
            record.model_usage = event.model_usage

    def _has_uncounted_tokens(self) -> bool:
        """Return whether messages had tokens and no result has any: a cost of 0 is then not known.

        Claude Code and others print such a result when they are interrupted within their first message.
        """
        return self.record.usage == Tally() and self.record.tokens != Tally()

    def _api_retry(self, _event: ApiRetry) -> None:
        self.record.api_retries += 1

    def _rate_limit(self, event: RateLimit) -> None:
        if not isinstance(event.rate_limit_info, dict):
            return
        info = convert(event.rate_limit_info, RateLimitInfo)
        self.record.rate_limit_status = info.status if isinstance(info.status, str) else None
        self.record.rate_limit_type = info.kind
        resets_at = plausible(info.resets_at)
        if resets_at is not None:
            self.record.resets_at = _seconds(int(resets_at))

    def _compact_boundary(self, _event: CompactBoundary) -> None:
        self.record.compactions += 1

    def _task_started(self, event: TaskStarted) -> None:
        if event.task_id is not None:
            self.record.open_tasks[event.task_id] = event.description or ""

    def _task_updated(self, event: TaskUpdated) -> None:
        if event.task_id is not None and event.status in ENDED_TASK:
            self.record.open_tasks.pop(event.task_id, None)

    def _task_notification(self, event: TaskNotification) -> None:
        if event.task_id is not None:
            self.record.open_tasks.pop(event.task_id, None)
        if event.tool_use_id is not None and event.status == "completed":
            self.record.background_open.pop(event.tool_use_id, None)

    def _note(self, event: Notice) -> None:
        notices = self.record.notices
        if event.text and event.text not in notices and len(notices) < _NOTICES_KEPT:
            notices.append(event.text)

    def _malformed(self, events: list[Malformed]) -> None:
        record = self.record
        record.parse_errors += len(events)
        if not record.is_turn_open and any(map(_begins_object, {event.raw for event in events})):
            record.is_turn_open = True  # an event was cut off; a result may follow, or was cut off itself
        kept = events[: _MALFORMED_KEPT - len(record.malformed)]
        record.malformed.extend(event.text[:_MALFORMED_CHARACTERS] for event in kept)

    def _skipped(self, event: Skipped) -> None:
        self.record.parse_errors += 1
        if len(self.record.malformed) < _MALFORMED_KEPT:
            self.record.malformed.append(f"({event.size_bytes} bytes, over the size limit of a line)")

    def _unknown(self, events: list[Unknown]) -> None:
        self.record.unknown_events += len(events)

    def _ignored(self, events: list[Ignored]) -> None:
        self.record.ignored += len(events)


def record_events(events: Iterable[Event]) -> Record:
    """Return the record of a whole run."""
    recorder = Recorder()
    for event in events:
        recorder.add(event)
    return recorder.record


def _questions(arguments: Any) -> str:
    """Return the questions in the arguments of the tool that asks the user."""
    match arguments:
        case {"questions": list(questions)}:
            return "\n".join(filter(None, map(_questions, questions)))
        case {"question": str(question)}:
            return question.strip()
    return ""


def _begins_object(line: bytes) -> bool:
    return b"{" in line and line.decode("utf-8", "replace").lstrip().startswith("{")


def _reset_time(text: str | None) -> int | None:
    match = re.search(_RESET_IN_TEXT, text or "")
    return _seconds(int(match[1])) if match else None


def _seconds(moment: int) -> int:
    """Return Unix seconds from seconds or milliseconds."""
    return moment // 1000 if moment > 10**11 else moment

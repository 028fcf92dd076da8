"""Items of events that are not messages: those of the agent program, and lines that are not events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from bridle.wire.events import system
from bridle.wire.events.events import (
    ControlRequest,
    ControlResponse,
    Event,
    Ignored,
    Malformed,
    RateLimit,
    Skipped,
    Unknown,
)
from bridle.wire.events.system import (
    ApiRetry,
    CompactBoundary,
    HookResponse,
    HookStarted,
    Init,
    Status,
    System,
    TaskNotification,
    TaskProgress,
    TaskStarted,
    TaskUpdated,
)
from bridle.wire.transcript import notice_texts
from bridle.wire.transcript.clip import Clip
from bridle.wire.transcript.item_board import ItemBoard
from bridle.wire.transcript.items import Failure, Notice, NoticeKind, Speaker, State, TextItem, UnknownItem
from bridle.wire.transcript.tool_calls import ToolCallItems


class _Unreadable(Struct):
    """The last sequence of lines that are not events: its item, and the length of its whole text."""

    kind: type[TextItem | Failure]
    item_id: int
    characters: int


class ProgramItems:
    """The fold of these events into items; `fold` has the method for each kind."""

    def __init__(self, board: ItemBoard, calls: ToolCallItems, clip: Clip, limit: int) -> None:
        self._board = board
        self._calls = calls
        self._clip = clip
        self._limit = limit
        self._session: tuple[Any, ...] | None = None
        self._hooks: dict[str, int] = {}
        self._unreadable: _Unreadable | None = None
        self._last_unknown: UnknownItem | None = None
        self.fold: dict[type[Event], Callable[[Any, float | None], None]] = {
            Init: self._init,
            ApiRetry: lambda event, at: self._notice(NoticeKind.RETRY, notice_texts.retry(event), at),
            RateLimit: lambda event, at: self._notice(NoticeKind.RATE_LIMIT, notice_texts.rate_limit(event), at),
            CompactBoundary: lambda event, at: self._notice(NoticeKind.COMPACTION, notice_texts.compaction(event), at),
            Status: self._status,
            TaskStarted: calls.task_started,
            TaskProgress: lambda event, _at: calls.task_progress(event),
            TaskUpdated: self._task_updated,
            TaskNotification: self._task_notification,
            HookStarted: self._hook_started,
            HookResponse: self._hook_response,
            System: self._system,
            system.Notice: lambda event, at: self._notice(NoticeKind.PROGRAM, event.text or "", at),
            ControlRequest: self._control_request,
            ControlResponse: self._control_response,
            Malformed: self._malformed,
            Skipped: self._skipped,
            Ignored: lambda event, at: self._add_line(TextItem, event.text, at),
            Unknown: self._unknown,
        }

    def finish(self) -> None:
        """Mark the hooks that still run as interrupted: the process has ended."""
        for item_id in self._hooks.values():
            self._board.change(item_id, state=State.INTERRUPTED)
        self._hooks.clear()

    def _init(self, event: Init, at: float | None) -> None:
        """Add a notice of a session, unless an earlier turn's init was the same."""
        session = (event.session_id, event.model, event.cwd, event.permission_mode)
        if session != self._session:
            self._session = session
            self._notice(NoticeKind.SESSION, notice_texts.session(event), at)

    def _status(self, event: Status, at: float | None) -> None:
        notice = notice_texts.status(event)
        if notice is not None:
            self._notice(*notice, at)

    def _task_updated(self, event: TaskUpdated, at: float | None) -> None:
        self._calls.task_changed(event, at)

    def _task_notification(self, event: TaskNotification, at: float | None) -> None:
        call = self._board.call(event.tool_use_id or "")
        self._calls.task_changed(event, at)
        if call is None or call.background:
            self._notice(NoticeKind.TASK, notice_texts.task(event), at)

    def _hook_started(self, event: HookStarted, at: float | None) -> None:
        name = event.hook_name or event.hook_event or "a hook"
        item_id = self._board.put(Notice, at=at, kind=NoticeKind.HOOK, text=name, state=State.RUNNING)
        if event.hook_id:
            self._hooks[event.hook_id] = item_id

    def _hook_response(self, event: HookResponse, at: float | None) -> None:
        failed = event.outcome == "error" or event.exit_code not in (0, None)
        output = (event.stderr or event.output or event.stdout or "").strip()
        name = event.hook_name or event.hook_event or "a hook"
        text = f"{name}: {self._clip(output, self._limit).text}" if output else name
        state = State.ERROR if failed else State.OK
        item_id = self._hooks.pop(event.hook_id or "", None)
        if item_id is None:
            self._board.put(Notice, at=at, kind=NoticeKind.HOOK, text=text, state=state)
        else:
            self._board.change(item_id, text=text, state=state)

    def _system(self, event: System, at: float | None) -> None:
        if event.subtype in notice_texts.SILENT_SYSTEM:
            return
        text = notice_texts.system_text(event)
        if text is None:
            self.unknown(f"system {event.subtype}".rstrip(), _raw(event), None, at)
        else:
            self._notice(NoticeKind.PROGRAM, text, at)

    def _control_request(self, event: ControlRequest, at: float | None) -> None:
        if event.subtype == "can_use_tool":
            self._notice(NoticeKind.PERMISSION, notice_texts.permission(event), at)
        else:
            self._notice(NoticeKind.PROGRAM, f"control request {event.subtype}".rstrip(), at)

    def _control_response(self, event: ControlResponse, at: float | None) -> None:
        if event.subtype == "error":
            self.failure("control request", notice_texts.control_error(event), None, at)

    def _malformed(self, event: Malformed, at: float | None) -> None:
        if event.is_protocol:
            self._add_line(Failure, f"{event.reason}\n{event.text}", at)
        else:
            self._add_line(TextItem, event.text, at)

    def _unknown(self, event: Unknown, at: float | None) -> None:
        if event.kind:
            self.unknown(event.kind, _raw(event), None, at)
        else:  # an object without a type is not an event
            self._add_line(TextItem, _raw(event), at)

    def _add_line(self, kind: type[TextItem | Failure], line: str, at: float | None) -> None:
        """Add a line that is not an event; one that follows another of its kind extends it."""
        last = self._unreadable
        if last is None or last.kind is not kind or not self._board.is_last(last.item_id):
            self._begin_lines(kind, line, at)
            return
        before, added = last.characters, len(line) + 1
        last.characters += added
        if before > self._limit:  # garbage can be millions of lines: these are only counted
            self._board.omit(last.item_id, added)
        elif before + added <= self._limit:
            self._board.grow(last.item_id, f"\n{line}")
        else:
            item = self._board.item(last.item_id)
            clipped = self._clip(f"{item.text}\n{line}", self._limit)  # type: ignore[union-attr]  # it has a text
            self._board.change(last.item_id, text=clipped.text, omitted_characters=clipped.omitted_characters)

    def _begin_lines(self, kind: type[TextItem | Failure], line: str, at: float | None) -> None:
        clipped = self._clip(line, self._limit)
        fields: dict[str, Any] = {"text": clipped.text, "omitted_characters": clipped.omitted_characters}
        fields |= {"speaker": Speaker.STRAY} if kind is TextItem else {"name": "broken line"}
        self._unreadable = _Unreadable(kind, self._board.put(kind, at=at, **fields), len(line))

    def _skipped(self, event: Skipped, at: float | None) -> None:
        self.failure("line too long", f"skipped {event.size_bytes} bytes in one line", None, at)

    def _notice(self, kind: NoticeKind, text: str, at: float | None) -> None:
        self._board.put(Notice, at=at, kind=kind, text=self._clip(text, self._limit).text)

    def failure(self, name: str, text: str, thread: str | None, at: float | None) -> None:
        """Add an error to a thread."""
        clipped = self._clip(text, self._limit)
        self._board.put(
            Failure, thread, at=at, name=name, text=clipped.text, omitted_characters=clipped.omitted_characters
        )

    def unknown(self, kind: str, raw: str, thread: str | None, at: float | None) -> None:
        """Add something unknown to a thread, as it was sent; one that follows another of its kind extends it."""
        last = self._last_unknown
        if thread is None and last is not None and last.kind == kind and self._board.is_last(last.id):
            self._extend_unknown(last, raw)
            return
        clipped = self._clip(raw, self._limit)
        item_id = self._board.put(
            UnknownItem, thread, at=at, kind=kind, raw=clipped.text, omitted_characters=clipped.omitted_characters
        )
        if thread is None:
            self._last_unknown = self._unknown_item(item_id)

    def _extend_unknown(self, item: UnknownItem, raw: str) -> None:
        if item.omitted_characters:  # as many as there are, they are only counted
            self._board.omit(item.id, len(raw) + 1)
            return
        clipped = self._clip(f"{item.raw}\n{raw}", self._limit)
        self._board.change(item.id, raw=clipped.text, omitted_characters=clipped.omitted_characters)
        self._last_unknown = self._unknown_item(item.id)

    def _unknown_item(self, item_id: int) -> UnknownItem | None:
        item = self._board.item(item_id)
        return item if isinstance(item, UnknownItem) else None


def _raw(event: Event) -> str:
    return event.raw.decode("utf-8", "replace")

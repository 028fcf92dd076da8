"""Tool calls: joined with their results, with a state and the details of their kind of tool."""

from __future__ import annotations

from msgspec.structs import replace

from bridle.wire.events.blocks import ToolResult, ToolUse, plain_text
from bridle.wire.events.decode_tolerant import convert
from bridle.wire.events.events import Assistant, User
from bridle.wire.events.loose_json import JsonObject
from bridle.wire.events.numbers import plausible
from bridle.wire.events.system import TaskNotification, TaskProgress, TaskStarted, TaskUpdated
from bridle.wire.record.recorder import ASK_TOOL, SUB_AGENT_TOOLS, AgentArguments
from bridle.wire.record.refusals import REJECTED, is_background_launch, is_permission_refusal, unwrap_error
from bridle.wire.transcript import file_changes, questions, todos
from bridle.wire.transcript.call_summary import summarize_call, whole_input
from bridle.wire.transcript.clip import Clip
from bridle.wire.transcript.file_changes import FILE_TOOLS
from bridle.wire.transcript.images import image_refs
from bridle.wire.transcript.item_board import ItemBoard
from bridle.wire.transcript.items import Call, Detail, Questions, State, SubAgent, TextItem
from bridle.wire.transcript.tool_details import NO_DETAILS, ToolDetails

INPUT_CHARACTERS = 20_000  # of a call's input as JSON; the content of a Write is in its diff as well
TODO_TOOL = "TodoWrite"
TASK_TOOLS = ("TaskCreate", "TaskUpdate", "TaskList")
_END_STATES = {
    "completed": State.OK,
    "failed": State.ERROR,
    "killed": State.INTERRUPTED,
    "stopped": State.INTERRUPTED,
}


class ToolCallItems:
    """The fold of tool calls, their results and the events of their tasks into items."""

    def __init__(self, board: ItemBoard, clip: Clip, limit: int) -> None:
        self._board = board
        self._clip = clip
        self._limit = limit
        self._open: dict[str, JsonObject] = {}  # the input of calls whose result needs it
        self._tasks = todos.TaskList()
        self._call_of_task: dict[str, str] = {}
        self._replaced: dict[str, list[int]] = {}  # calls under whose id another one began before their result
        self._rejected: set[str] = set()
        self._refused: set[str] = set()

    def use(self, block: ToolUse, event: Assistant, at: float | None) -> None:
        known = self._board.call(block.id)
        text = self._clip(bytes(block.input).decode("utf-8", "replace"), INPUT_CHARACTERS)
        is_other = known is not None and known.name != "" and (known.name, known.input) != (block.name, text.text)
        is_over = known is not None and known.name != "" and known.state is not State.RUNNING
        if known is not None and is_other and not is_over:
            self._replaced.setdefault(block.id, []).append(known.id)
        place = self._board.call_again if is_over or is_other else self._board.call_in
        call = place(event.parent_tool_use_id, block.id, at)
        arguments = block.arguments
        if call.state is State.RUNNING and self._needs_input(block.name):
            self._open[call.call_id] = arguments
        detail = self._first_detail(block.name, arguments, call)
        has_card = block.name in (*FILE_TOOLS, TODO_TOOL, ASK_TOOL)
        summarize = whole_input if has_card and detail is None else summarize_call
        self._board.change(
            call.id,
            name=block.name,
            at=call.at if call.at is not None else at,
            message_id=event.message.id,
            summary=summarize(block, self._clip),
            input=text.text,
            input_omitted=text.omitted_characters,
            detail=detail,
        )

    def result(self, block: ToolResult, event: User, at: float | None, *, alone: bool) -> None:
        """Add a tool result; the event's details belong to it if it is the only result on its line."""
        known = self._first_running(block.tool_use_id) or self._board.call(block.tool_use_id)
        call = known or self._board.call_in(event.parent_tool_use_id, block.tool_use_id, at)
        text = block.text
        needs_details = alone and self._needs_details(call, event)
        details = convert(event.details, ToolDetails) if needs_details else NO_DETAILS
        background = block.is_error is not True and _is_in_background(details, text)
        state = State.RUNNING if background else self._state(block, event, details, text)
        output = self._clip(unwrap_error(text), self._limit)
        self._board.change(
            call.id,
            state=state,
            background=background,
            output=output.text,
            omitted_characters=output.omitted_characters,
            omitted_lines=output.omitted_lines,
            seconds=_seconds(call, at) if known else None,
            images=image_refs(block),
            detail=self._last_detail(call, details, text, state),
        )

    def interrupted(self, *, thread: str | None) -> None:
        """Mark the foreground calls and the rejected ones as interrupted by the user."""
        rejected = (self._board.call(call_id) for call_id in self._rejected)
        foreground = (call for call in self._board.running() if not call.background)
        for call in (*rejected, *foreground):
            if call is not None and (thread is None or call.thread == thread):
                self._board.change(call.id, state=State.INTERRUPTED)
        self._rejected.clear()

    def denied(self, call_ids: set[str], *, is_complete: bool) -> None:
        """Mark the refused calls that a turn's result lists; if the list is complete, no other was refused."""
        for call_id in call_ids:
            call = self._board.call(call_id)
            if call is not None and call.state is not State.DENIED:
                self._board.change(call.id, state=State.DENIED)
        for call_id in self._refused - call_ids if is_complete else ():
            call = self._board.call(call_id)
            if call is not None and call.state is State.DENIED and call.thread is None:
                self._board.change(call.id, state=State.ERROR)
        self._refused.clear()
        self._rejected.clear()

    def turn_succeeded(self) -> None:
        """Mark the foreground calls without a result: the turn would not have succeeded before they had one."""
        for call in self._board.running():
            if not call.background:
                self._board.change(call.id, state=State.UNANSWERED)

    def finish(self) -> None:
        """Mark the running calls as interrupted: the process has ended."""
        for call in self._board.running():
            self._board.change(call.id, state=State.INTERRUPTED)
        self._open.clear()

    def task_started(self, event: TaskStarted, at: float | None) -> None:
        """Add the start of a sub-agent or a background command."""
        if not event.tool_use_id:
            return
        if event.task_id:
            self._call_of_task[event.task_id] = event.tool_use_id
        if event.task_type == "local_agent" or event.subagent_type:
            self.describe(event.tool_use_id, event.subagent_type, event.description, event.prompt, at)

    def task_progress(self, event: TaskProgress) -> None:
        """Update what a sub-agent is doing."""
        call = self._board.call(event.tool_use_id or "")
        if call is not None and isinstance(call.detail, SubAgent):
            detail = replace(call.detail, doing=self._clip(event.description or "", self._limit).text)
            self._board.change(call.id, detail=detail)

    def task_changed(self, event: TaskUpdated | TaskNotification, at: float | None) -> None:
        """Set a background call's state to that of its task."""
        call_id = self._call_of_task.get(event.task_id or "")
        call = self._board.call(call_id or getattr(event, "tool_use_id", None) or "")
        state = _END_STATES.get(event.status or "")
        if call is None or state is None or not call.background or call.state is not State.RUNNING:
            return
        self._board.change(call.id, state=state, seconds=_seconds(call, at))

    def describe(
        self, call_id: str, kind: str | None, description: str | None, prompt: str | None, at: float | None
    ) -> None:
        """Add what is known about a sub-agent, even if its call was not seen."""
        call = self._board.call_in(None, call_id, at)
        if call.detail is not None and not isinstance(call.detail, SubAgent):
            return
        known = call.detail or SubAgent()
        detail = replace(
            known,
            kind=known.kind or kind or "",
            description=known.description or self._clip(description or "", self._limit).text,
            prompt=known.prompt or self._clip(prompt or "", self._limit).text,
        )
        if detail != call.detail:
            self._board.change(call.id, detail=detail)

    def mark_inferred(self, call_id: str) -> None:
        """Note that the items of a sub-agent are inferred."""
        call = self._board.call(call_id)
        if call is not None and isinstance(call.detail, SubAgent) and not call.detail.is_inferred:
            self._board.change(call.id, detail=replace(call.detail, is_inferred=True))

    def is_prompt(self, call_id: str, text: str) -> bool:
        """Return whether a text is the sub-agent's prompt, which its call shows already."""
        call = self._board.call(call_id)
        detail = call.detail if call is not None else None
        return isinstance(detail, SubAgent) and detail.prompt == self._clip(text, self._limit).text

    def _first_running(self, call_id: str) -> Call | None:
        """Return the oldest unfinished one of several calls with the same id: results come in the order of calls."""
        items = (self._board.item(item_id) for item_id in self._replaced.get(call_id, ()))
        running = (item for item in items if isinstance(item, Call) and item.state is State.RUNNING)
        return next((call for call in running if not call.background), None)

    def _needs_input(self, name: str) -> bool:
        return name in FILE_TOOLS or name in TASK_TOOLS

    def _needs_details(self, call: Call, event: User) -> bool:
        special = call.name in FILE_TOOLS or call.name in TASK_TOOLS or call.name in SUB_AGENT_TOOLS
        raw = bytes(event.tool_use_result)
        return special or call.name == ASK_TOOL or b'"backgroundTaskId"' in raw or b'"interrupted":true' in raw

    def _first_detail(self, name: str, arguments: JsonObject, call: Call) -> Detail | None:
        if name in FILE_TOOLS:
            return file_changes.file_change(name, arguments, NO_DETAILS, self._clip)
        if name == TODO_TOOL:
            return todos.parse_todos(arguments)
        if name == ASK_TOOL:
            return questions.parse_questions(arguments)
        if name in SUB_AGENT_TOOLS or isinstance(call.detail, SubAgent):
            return self._sub_agent(arguments, call)
        return None

    def _sub_agent(self, arguments: JsonObject, call: Call) -> SubAgent:
        known = call.detail if isinstance(call.detail, SubAgent) else SubAgent()
        given = {name: value for name, value in arguments.items() if value is not None}
        agent = convert({name: plain_text(value) for name, value in given.items()}, AgentArguments)
        return replace(
            known,
            kind=agent.subagent_type or known.kind,
            description=self._clip(agent.description, self._limit).text or known.description,
            prompt=self._clip(agent.prompt, self._limit).text or known.prompt,
        )

    def _last_detail(self, call: Call, details: ToolDetails, text: str, state: State) -> Detail | None:
        arguments = self._open.pop(call.call_id, {})
        if call.name in FILE_TOOLS and state is State.OK:
            return file_changes.file_change(call.name, arguments, details, self._clip) or call.detail
        is_task = call.name in TASK_TOOLS and todos.changes_tasks(call.name, arguments, details)
        if is_task and state is State.OK:
            return self._tasks.apply(call.name, arguments, details, text)
        if isinstance(call.detail, Questions):
            return questions.with_answers(call.detail, details.answers, text if state is State.OK else "")
        if isinstance(call.detail, SubAgent):
            return self._with_report(call, call.detail, details, text, state)
        return call.detail

    def _with_report(self, call: Call, agent: SubAgent, details: ToolDetails, text: str, state: State) -> SubAgent:
        report = plain_text(details.content) if isinstance(details.content, list) else text
        last = self._board.last(call.call_id)
        is_shown = isinstance(last, TextItem) and last.text.strip() == report.strip()
        return replace(
            agent,
            report="" if is_shown or state is State.RUNNING else self._clip(unwrap_error(report), self._limit).text,
            model=details.resolved_model or None,
            tool_uses=plausible(details.total_tool_use_count),
            tokens=plausible(details.total_tokens),
            doing="",
        )

    def _state(self, block: ToolResult, event: User, details: ToolDetails, text: str) -> State:
        if bytes(event.tool_use_result) == REJECTED:
            self._rejected.add(block.tool_use_id)
            self._refused.add(block.tool_use_id)
            return State.DENIED
        if details.interrupted:
            return State.INTERRUPTED
        if block.is_error is not True:
            return State.OK
        if is_permission_refusal(text):
            self._refused.add(block.tool_use_id)
            return State.DENIED
        return State.ERROR


def _is_in_background(details: ToolDetails, text: str) -> bool:
    return bool(details.background_task_id) or details.is_async or is_background_launch(text)


def _seconds(call: Call, at: float | None) -> float | None:
    return None if at is None or call.at is None else max(at - call.at, 0.0)

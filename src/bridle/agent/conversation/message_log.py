"""The message log: every message is built once and written to history, transcript and standard output."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec import UNSET

from bridle.agent.conversation.partial_answer import PartialAnswer
from bridle.agent.model.api.question import Block, Content, Message
from bridle.agent.sessions import transcript_entries
from bridle.agent.sessions.api_messages import add, block_type, blocks_of, text_block
from bridle.agent.sessions.session import LineId, Session, new_uuid
from bridle.agent.stdio.event_writer import EventWriter
from bridle.agent.stdio.output_events import (
    Assistant,
    AssistantMessage,
    Event,
    Replay,
    SyntheticMessage,
    User,
    UserMessage,
)
from bridle.agent.tools.contract.tool import ToolResult, as_block
from bridle.agent.tools.toolbox import FinishedCall, ToolCall
from bridle.errors import ModelFailure
from bridle.ground import clock

REJECTED = (
    "The user interrupted before this call was done. Whatever it had not done yet did not happen. "
    "Stop here, and wait for the user to say how to continue."
)
REJECTED_DETAIL = "User rejected tool use"


class _ToolResult(msgspec.Struct, frozen=True):
    """A printed tool result that history and transcript do not have yet."""

    call_id: str
    block: Block
    detail: Any
    line: LineId
    follow_up: list[tuple[LineId, Block]]


class MessageLog:
    """The messages of a session, in three sinks.

    `messages` is the history that the next request sends, `session` writes the transcript, and the writer prints
    events for the client. An answer is printed block by block and added to the other two when it is complete; the
    results of its calls are printed as they come and added together, because the API wants them in one message.
    """

    def __init__(self, session: Session, writer: EventWriter) -> None:
        self.session = session
        self.messages: list[Message] = list(session.history.messages)
        self._writer = writer
        self._results: list[_ToolResult] = []
        self._call_ids = {block["id"] for block in _calls(self.messages)}
        self.tool_source: Callable[[], Mapping[str, Any]] = dict
        """Returns the tools of MCP servers, whose calls are printed with titles."""

    # The user

    def prompt(self, content: Content, attached: list[Block], *, permission_mode: str, uuid: str | None) -> LineId:
        """Add a prompt, with the content of what it mentions."""
        self._add_user([*blocks_of(content), *attached])
        return self.session.prompt(content, permission_mode=permission_mode, uuid=uuid)

    def aside(self, content: Content, *, permission_mode: str, uuid: str | None) -> LineId:
        """Add a message that asks for no answer; the next prompt joins it, on a line of its own."""
        *first, last = blocks_of(content) or [text_block("")]
        ended = {**last, "text": f"{last['text']}\n"} if last.get("text") else last
        self._add_user([*first, ended])
        return self.session.prompt(content, permission_mode=permission_mode, uuid=uuid)

    def skill_command(
        self, shown: str, body: Content, attached: list[Block], *, typed: str, uuid: str | None
    ) -> LineId:
        """Add a slash command that calls a skill; `body` is the text of the skill, or the blocks of a prompt."""
        self._add_user([text_block(shown), *blocks_of(body), *attached])
        line = self.session.command(shown, typed=typed, uuid=uuid)
        self.session.note(blocks_of(body), is_meta=True)
        return line

    def local_command(self, content: Content, *, typed: str, uuid: str | None) -> None:
        """Add a slash command that is answered without the model; the history does not get it."""
        self.session.command(content, typed=typed, uuid=uuid)

    def midturn(self, content: Content, text: str) -> None:
        """Add a message that arrived during a turn; `text` is its form for the model."""
        self.messages.append({"role": "system", "content": text})
        self.session.midturn(content)

    def instructions(self, text: str) -> None:
        """Add instructions for a part of the project to the history; a resumed session reads them again."""
        self.messages.append({"role": "system", "content": text})

    def replay(self, content: Content, uuid: str, *, has_time: bool = True) -> None:
        """Echo a user message to the client."""
        timestamp = _now() if has_time else UNSET
        self.emit(Replay(message=UserMessage(content=content), uuid=uuid, timestamp=timestamp))

    # The model

    def new_call_id(self, given: object) -> str:
        """Return the id of a new call: the given one, unless another call of the session has it."""
        base = given if isinstance(given, str) and given else f"toolu_{new_uuid().replace('-', '')}"
        call_id, number = base, 1
        while call_id in self._call_ids:
            number += 1
            call_id = f"{base}_{number}"
        self._call_ids.add(call_id)
        return call_id

    def answer_block(self, answer: PartialAnswer, block: Block) -> None:
        """Add a complete block to an answer and print it."""
        head, uuid = answer.head, new_uuid()
        answer.blocks.append((uuid, block))
        message = AssistantMessage(id=head.id, model=head.model, content=[block], usage=head.usage or {})
        if answer.is_final:
            message.stop_reason, message.stop_sequence = head.stop_reason, head.stop_sequence
            message.usage = transcript_entries.full_usage(head.usage)
        self.emit(
            Assistant(
                message=message,
                uuid=uuid,
                request_id=_or_unset(answer.request_id),
                tool_use_meta=_titles(block, self.tool_source) if _is_mcp(block) else UNSET,
            )
        )

    def answer(self, answer: PartialAnswer) -> None:
        """Add a complete answer, or what there is of an interrupted one, to history and transcript; once."""
        if answer.is_logged or not answer.blocks:
            return
        answer.is_logged = True
        self.messages.append({"role": "assistant", "content": [_current(block) for _, block in answer.blocks]})
        head = answer.head
        if (ended := answer.ended) is not None:
            head = msgspec.structs.replace(
                head,
                stop_reason=ended.stop_reason,
                stop_sequence=ended.stop_sequence,
                usage=ended.usage,
                stop_details=ended.stop_details,
            )
        self.session.assistant(head, answer.blocks, request_id=answer.request_id)

    def tool_result(self, done: FinishedCall) -> int:
        """Print the result of a call; return the number of events. `add_results` adds it to the other sinks."""
        answer, call_id = done.answer, done.call.call_id
        block = _result_block(call_id, answer)
        line = self._print_user([block], detail=answer.detail)
        follow_up = [as_block(item) for item in answer.follow_up]
        lines = [self._print_user([item], is_synthetic=True) for item in follow_up]
        more = list(zip(lines, follow_up, strict=True))
        more += [(LineId(new_uuid(), _now()), text_block(text)) for text in answer.reminders]
        self._results.append(_ToolResult(call_id, block, answer.detail, line, more))
        return 1 + len(lines)

    def add_results(self, answer: PartialAnswer, *, missing: str = REJECTED) -> None:
        """Add the printed results of an answer's calls; `missing` is what the model reads of a call without one."""
        results, self._results = self._results, []
        blocks = [result.block for result in results]
        for result in results:
            line = result.line
            source = answer.event_id(result.call_id)
            self.session.tool_result(
                result.block, detail=result.detail, source=source, uuid=line.uuid, timestamp=line.timestamp
            )
        more: list[Block] = []
        # After all results: each result starts a branch of the transcript, and only the last branch is continued.
        for result in results:
            for line, block in result.follow_up:
                more.append(block)
                self.session.note(
                    [block], is_meta=True, uuid=line.uuid, timestamp=line.timestamp, source_call=result.call_id
                )
        known = {result.call_id for result in results}
        if self.messages and self.messages[-1]["role"] == "assistant":
            for block in blocks_of(self.messages[-1]["content"]):
                if block_type(block) == "tool_use" and block["id"] not in known:
                    blocks.append(_result_block(block["id"], ToolResult(missing, is_error=True)))
        self._add_user(blocks + more)

    # The program

    def note(self, text: str, *, is_meta: bool, is_printed: bool = True) -> None:
        """Add a text of the program in the role of the user."""
        block = text_block(text)
        line = self._print_user([block], is_synthetic=is_meta) if is_printed else None
        self._add_user([block])
        self.session.note([block], is_meta=is_meta, uuid=line.uuid if line is not None else None)

    def api_error(self, failure: ModelFailure, *, stop_reason: str, stop_details: Any = None) -> None:
        """Report a failed request in the role of the model; the history does not get it."""
        message = SyntheticMessage(
            id=new_uuid(), content=[text_block(failure.text)], stop_reason=stop_reason, stop_details=stop_details
        )
        uuid = new_uuid()
        self.emit(
            Assistant(
                message=message, uuid=uuid, request_id=_or_unset(failure.request_id), error=_or_unset(failure.error)
            )
        )
        self.session.synthetic(
            message, uuid=uuid, request_id=failure.request_id, error=failure.error, status=failure.status
        )

    def local_answer(self, text: str) -> None:
        """Print an answer of the program itself; history and transcript do not get it."""
        self.emit(Assistant(message=SyntheticMessage(id=new_uuid(), content=[text_block(text)])))

    def emit(self, event: Event) -> None:
        """Print an event, with the session's id and an id of its own."""
        event.session_id = self.session.id
        event.uuid = event.uuid or new_uuid()
        self._writer.write(event)

    async def wait_for_reader(self) -> None:
        """Wait until the reader of standard output has caught up."""
        await self._writer.output.caught_up()

    async def save(self) -> None:
        """Write the transcript and sync it."""
        await self.session.save()

    def _print_user(self, content: list[Block], *, detail: Any = None, is_synthetic: bool = False) -> LineId:
        line = LineId(new_uuid(), _now())
        event = User(message=UserMessage(content=content), uuid=line.uuid, timestamp=line.timestamp)
        if detail is not None:
            event.tool_use_result = detail
        if is_synthetic:
            event.is_synthetic = True
        self.emit(event)
        return line

    def _add_user(self, blocks: list[Block]) -> None:
        add(self.messages, "user", blocks)


def _calls(messages: list[Message]) -> Iterator[Block]:
    for message in messages:
        yield from (block for block in blocks_of(message["content"]) if block_type(block) == "tool_use")


def rejected(call: ToolCall) -> FinishedCall:
    """Return the result of a call that an interruption stopped."""
    return FinishedCall(call, ToolResult(REJECTED, detail=REJECTED_DETAIL, is_error=True))


def _result_block(call_id: str, answer: ToolResult) -> Block:
    """Return the block of a tool result; an error has its fields in another order, as Claude Code writes it."""
    if answer.is_error:
        return {"type": "tool_result", "content": answer.content, "is_error": True, "tool_use_id": call_id}
    block: Block = {"tool_use_id": call_id, "type": "tool_result", "content": answer.content}
    return block | {"is_error": False} if answer.names_success else block


def _is_mcp(block: Block) -> bool:
    return block_type(block) == "tool_use" and str(block.get("name")).startswith("mcp__")


def _titles(block: Block, tools: Callable[[], Mapping[str, Any]]) -> list[dict[str, str]]:
    """Return how clients show a call of an MCP tool."""
    name = str(block.get("name"))
    tool = tools().get(name)
    title = tool.title if tool is not None else name.rpartition("__")[2].capitalize()
    entry = {"id": str(block.get("id")), "display_name": title}
    server = tool.server_title if tool is not None else None
    return [entry if server is None else {**entry, "server_display_name": server}]


def _current(block: Block) -> Block:
    """Return a block for the next request: the Agent tool has its current name."""
    return block | {"name": "Agent"} if block_type(block) == "tool_use" and block.get("name") == "Task" else block


def _or_unset(text: str | None) -> str | msgspec.UnsetType:
    return UNSET if text is None else text


def _now() -> str:
    return clock.iso(clock.now())

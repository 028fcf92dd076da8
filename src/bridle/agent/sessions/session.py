"""One session and its transcript. Lines are written in batches, and synced before anything depends on them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET

from bridle.agent.model.api.question import Block, Content
from bridle.agent.sessions import transcript_entries
from bridle.agent.sessions.api_messages import AnswerHead, History
from bridle.agent.sessions.transcript_entries import (
    AttachmentLine,
    BoundaryLine,
    CompactMetadata,
    FileHistoryLine,
    LastPromptLine,
    Line,
    Mark,
    Origin,
    QueuedCommand,
    QueueLine,
    SyntheticLine,
    UserContent,
    UserLine,
)
from bridle.agent.sessions.transcript_file import TranscriptFile
from bridle.ground import clock

# Lists of sessions show this much of a prompt.
_SHOWN_CHARACTERS = 200


def new_uuid() -> str:
    """Return a random id for a session, a line or an event."""
    data = bytearray(os.urandom(16))
    data[6] = data[6] & 0x0F | 0x40
    data[8] = data[8] & 0x3F | 0x80
    text = data.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


class LineId(msgspec.Struct, frozen=True):
    """The id and time of a transcript line, which the event for the same message repeats."""

    uuid: str
    timestamp: str


class Session:
    """The transcript of one session. Lines are buffered, and written by `flush` or `save`.

    Without a path nothing is written; callers need not know.
    """

    def __init__(
        self,
        origin: Origin,
        path: Path | None,
        *,
        history: History | None = None,
        opening: Iterable[Line] = (),
        copied_from: Path | None = None,
        fd: int | None = None,
    ) -> None:
        self.origin = origin
        self.history = history or History()
        """The conversation before this run."""
        self.is_resumed = history is not None
        self.prompt_id = new_uuid()
        """The id of the prompt of the current turn."""
        self.has_prompt = False
        """Whether the id is that of a prompt of this process."""
        self._is_announced = False
        """Whether the id is that of a prompt that is not recorded yet."""
        self._leaf = self.history.leaf
        self._lines: list[tuple[str, str]] = list(self.history.lines)
        self._buffer: list[Line] = list(opening)
        self._early_results: list[UserLine] = []
        self._queued = 0
        self._last_prompt: str | None = None
        self.source = copied_from if copied_from is not None else path if history is not None else None
        """The transcript of the conversation before this run, or None."""
        head = None if copied_from is None else lambda: self._copy_of(copied_from)
        self._file = TranscriptFile(path, fd=fd, head=head)

    @property
    def id(self) -> str:
        return self.origin.session_id

    @property
    def path(self) -> Path | None:
        """The path of the transcript; None if it is not written, or closed."""
        return self._file.path

    @property
    def leaf(self) -> str | None:
        """The id of the last line."""
        return self._leaf

    @property
    def on_written(self) -> Callable[[Path, bytes], None] | None:
        """Called with the path and the lines that were written; None for nothing."""
        return self._file.on_written

    @on_written.setter
    def on_written(self, called: Callable[[Path, bytes], None] | None) -> None:
        self._file.on_written = called

    def set_cwd(self, cwd: str) -> None:
        """Record another working folder in the lines that follow."""
        self.origin = msgspec.structs.replace(self.origin, cwd=cwd)

    def enqueue(self, content: Content) -> None:
        """Record a user message that arrived while a turn was running."""
        self._queued += 1
        self._add_queue_line("enqueue", content)

    def prompt(self, content: Content, *, permission_mode: str, uuid: str | None = None) -> LineId:
        """Record the prompt that begins a turn."""
        self._begin_turn(content)
        line = self._user_line(content, self._mark(uuid))
        line.permission_mode, line.prompt_source = permission_mode, "sdk"
        return self._add_user(line)

    def command(self, content: Content, *, typed: str, uuid: str | None = None) -> LineId:
        """Record a slash command that begins a turn; `content` is its expanded form."""
        self._begin_turn(typed)
        return self.note(content, is_meta=False, uuid=uuid)

    def note(
        self,
        content: Content,
        *,
        is_meta: bool = True,
        uuid: str | None = None,
        timestamp: str | None = None,
        source_call: str | None = None,
    ) -> LineId:
        """Record a text that the program wrote in the role of the user; `source_call` is the call that caused it."""
        line = self._user_line(content, self._mark(uuid, timestamp))
        line.is_meta = True if is_meta else UNSET
        line.source_call = UNSET if source_call is None else source_call
        return self._add_user(line)

    def midturn(self, content: Content, *, uuid: str | None = None) -> LineId:
        """Record a user message that joined the running turn."""
        self._dequeue("remove", content)
        mark = self._mark(uuid)
        line = AttachmentLine(
            parent_uuid=mark.parent,
            attachment=QueuedCommand(prompt=content, timestamp=mark.timestamp),
            uuid=mark.uuid,
            timestamp=mark.timestamp,
            origin=self.origin,
        )
        return self._add(line, mark.uuid, mark.timestamp, "user")

    def assistant(self, head: AnswerHead, blocks: Sequence[tuple[str, Block]], *, request_id: str | None) -> None:
        """Record an answer of the model: each block with the id of its event, and the final usage."""
        # Some endpoints name neither; Claude Code hangs over a transcript that holds a null there (seen with 2.1.197).
        head = msgspec.structs.replace(head, id=head.id or f"msg_{new_uuid()}", model=head.model or "unknown")
        for uuid, block in blocks:
            mark = self._mark(uuid)
            line = transcript_entries.assistant(head, block, mark, self.origin, request_id=request_id)
            self._add(line, mark.uuid, mark.timestamp, "assistant")
        self._add_early_results({uuid for uuid, _ in blocks})

    def synthetic(
        self,
        message: object,
        *,
        uuid: str,
        request_id: str | None = None,
        error: str | None = None,
        status: int | None = None,
    ) -> None:
        """Record a message that the program wrote in the role of the model; it is never sent to the model."""
        mark = self._mark(uuid)
        line = SyntheticLine(
            parent_uuid=mark.parent,
            uuid=mark.uuid,
            timestamp=mark.timestamp,
            message=message,
            request_id=UNSET if request_id is None else request_id,
            error=UNSET if error is None else error,
            is_api_error_message=error is not None,
            api_error_status=UNSET if status is None else status,
            origin=self.origin,
        )
        self._add(line, mark.uuid, mark.timestamp, None)

    def tool_result(
        self, block: Block, *, detail: Any, source: str, uuid: str | None = None, timestamp: str | None = None
    ) -> LineId:
        """Record the result of a call. `source` is the id of the line that holds the call.

        A result that comes before that line is held back until the answer is recorded.
        """
        mark = Mark(uuid or new_uuid(), timestamp or clock.iso(clock.now()), source)
        line = self._user_line([block], mark)
        line.tool_use_result = UNSET if detail is None else detail
        line.source = source
        if any(known == source for known, _ in reversed(self._lines)):
            return self._add_user(line)
        self._early_results.append(line)
        return LineId(mark.uuid, mark.timestamp)

    def add_summary(self, metadata: CompactMetadata, summary: str, *, boundary: str, anchor: str) -> LineId:
        """Record a summary that replaces the conversation; `boundary` and `anchor` are the ids of its two lines."""
        mark = self._mark(boundary)
        line = BoundaryLine(
            logical_parent_uuid=mark.parent,
            timestamp=mark.timestamp,
            uuid=mark.uuid,
            compact_metadata=metadata,
            origin=self.origin,
        )
        self._add(line, mark.uuid, mark.timestamp, None)
        preserved = metadata.preserved_messages.uuids if metadata.preserved_messages else []
        preserved_lines = [line for line in self._lines if line[0] in preserved]
        note = self._user_line(summary, self._mark(anchor))
        note.is_visible_in_transcript_only = note.is_compact_summary = True
        line_id = self._add_user(note)
        self._lines = [(anchor, "user"), *preserved_lines]
        return line_id

    def checkpoint(self, message_id: str, snapshot: object, *, is_update: bool) -> None:
        """Record a file checkpoint."""
        self._buffer.append(FileHistoryLine(message_id=message_id, snapshot=snapshot, is_snapshot_update=is_update))

    def last_lines(self, messages: int) -> list[str]:
        """Return the ids of the lines that make up the last messages of the conversation."""
        ids: list[str] = []
        last_role = None
        for uuid, role in reversed(self._lines):
            if role != last_role:
                last_role, messages = role, messages - 1
                if messages < 0:
                    break
            ids.append(uuid)
        return ids[::-1]

    def flush(self) -> None:
        """Write the buffered lines and sync them; blocks until the disk is done."""
        self._encode()
        self._file.drain()

    async def save(self) -> None:
        """Write the buffered lines and sync them in a thread."""
        self._encode()
        if self._file.is_behind:
            await asyncio.to_thread(self._file.drain)

    def close(self) -> None:
        """Write the last lines and close the file; may be called twice."""
        if self._leaf == self.history.leaf:
            self._buffer.clear()  # no message was added: leave the file as it was
        elif self.path is not None:
            text = UNSET if self._last_prompt is None else self._last_prompt
            self._buffer.append(LastPromptLine(last_prompt=text, leaf_uuid=self._leaf, session_id=self.id))
        try:
            self.flush()
        finally:
            self._file.close()

    def _encode(self) -> None:
        """Encode in the thread that made the lines; only bytes reach the thread that writes."""
        lines, self._buffer = self._buffer, []
        if lines:
            self._file.add(b"".join(map(self._encode_line, lines)))

    def _encode_line(self, line: Line) -> bytes:
        return transcript_entries.encode(line)

    def _copy_of(self, source: Path) -> Iterator[bytes]:
        """Yield the lines of a forked conversation, with the id of this session."""
        from bridle.agent.sessions.read_transcript import lines_of  # late: only a fork reads here

        for data in lines_of(source):
            line = _line_of(data, self.history.chain)
            if line is not None:
                yield transcript_entries.encode_json(line | {"sessionId": self.id})

    def _mark(self, uuid: str | None, timestamp: str | None = None) -> Mark:
        return Mark(uuid or new_uuid(), timestamp or clock.iso(clock.now()), self._leaf)

    def _user_line(self, content: Content, mark: Mark) -> UserLine:
        return UserLine(
            parent_uuid=mark.parent,
            prompt_id=self.prompt_id,
            message=UserContent(content=content),
            uuid=mark.uuid,
            timestamp=mark.timestamp,
            origin=self.origin,
        )

    def _add_user(self, line: UserLine) -> LineId:
        return self._add(line, line.uuid, line.timestamp, "user")

    def _add(self, line: Line, uuid: str, timestamp: str, role: str | None) -> LineId:
        self._buffer.append(line)
        self._leaf = uuid
        if role is not None:
            self._lines.append((uuid, role))
        return LineId(uuid, timestamp)

    def _begin_turn(self, content: Content) -> None:
        self._dequeue("dequeue", content)
        if not self._is_announced:
            self.announce_prompt()
        self._is_announced = False
        self._early_results.clear()
        self._last_prompt = _one_line(content)

    def announce_prompt(self) -> None:
        """Choose the id of the next prompt, for hooks that run before it is recorded."""
        self.prompt_id = new_uuid()
        self.has_prompt = self._is_announced = True

    def _dequeue(self, operation: str, content: Content) -> None:
        """Record that a message leaves the queue; one that was never recorded as queued is queued first."""
        if self._queued == 0:
            self.enqueue(content)
        self._queued -= 1
        self._add_queue_line(operation, None)

    def _add_queue_line(self, operation: str, content: Content | None) -> None:
        line = QueueLine(operation=operation, timestamp=clock.iso(clock.now()), session_id=self.id)
        if isinstance(content, str):
            line.content = content
        self._buffer.append(line)

    def _add_early_results(self, sources: set[str]) -> None:
        """Record the results that came before the answer was complete."""
        early, self._early_results = self._early_results, []
        for line in early:
            if line.source in sources:
                self._add_user(line)
            else:
                self._early_results.append(line)


def _line_of(data: bytes, chain: frozenset[str]) -> dict[str, Any] | None:
    try:
        line = msgspec.json.decode(data)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    return line if isinstance(line, dict) and line.get("uuid") in chain else None


def _one_line(content: Content) -> str:
    """Return the text of a prompt in one short line, as lists of sessions show it."""
    texts = [content] if isinstance(content, str) else [block.get("text") for block in content]
    line = " ".join("\n".join(text for text in texts if isinstance(text, str)).split("\n")).strip()
    return line if len(line) <= _SHOWN_CHARACTERS else line[:_SHOWN_CHARACTERS].rstrip() + "…"

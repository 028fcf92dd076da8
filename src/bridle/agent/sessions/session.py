"""One session and its transcript, written in batches that are on the disk before what follows from them is told."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from bridle.agent.sessions import transcript_entries
from bridle.agent.sessions.history import History
from bridle.agent.sessions.read_transcript import lines_of
from bridle.agent.sessions.transcript_entries import Content, Line, Mark, Origin
from bridle.agent.sessions.transcript_file import TranscriptFile
from bridle.ground import clock

# As much of a prompt as a list of sessions has room for.
_SHOWN_CHARACTERS = 200


def new_uuid() -> str:
    """An id for a session, a line or an event."""
    data = bytearray(os.urandom(16))
    data[6] = data[6] & 0x0F | 0x40
    data[8] = data[8] & 0x3F | 0x80
    text = data.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


class Noted(msgspec.Struct, frozen=True):
    """A line of the transcript, as the event that shows it names it."""

    uuid: str
    timestamp: str


class Session:
    """The conversation of one run. Lines are collected, and written by `flush` or `save`.

    A run that keeps no transcript uses it in the same way; nothing is written then.
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
        """What was said before this run."""
        self.is_resumed = history is not None
        self.prompt_id = new_uuid()
        """The id of the prompt that is being worked on."""
        self._leaf = self.history.leaf
        self._lines: list[tuple[str, str]] = list(self.history.lines)
        self._buffer: list[Line] = list(opening)
        self._waiting: list[Line] = []
        self._queued = 0
        self._last_prompt: str | None = None
        head = None if copied_from is None else lambda: self._copied(copied_from)
        self._file = TranscriptFile(path, fd=fd, head=head)

    @property
    def id(self) -> str:
        """The id of the session."""
        return self.origin.session_id

    @property
    def path(self) -> Path | None:
        """Where the transcript is; nowhere in a run that keeps none, and once it is closed."""
        return self._file.path

    @property
    def leaf(self) -> str | None:
        """The id of the line that the next one follows."""
        return self._leaf

    def moved(self, cwd: str) -> None:
        """From now on the lines come from another folder."""
        self.origin = msgspec.structs.replace(self.origin, cwd=cwd)

    def enqueued(self, content: Content) -> None:
        """A message came in while another one was being worked on."""
        self._queued += 1
        self._queue("enqueue", content)

    def prompt(self, content: Content, *, permission_mode: str, uuid: str | None = None) -> Noted:
        """The user asks for something: a turn begins."""
        self._begin(content)
        mark = self._mark(uuid)
        line = transcript_entries.prompt(
            content, mark, self.origin, prompt_id=self.prompt_id, permission_mode=permission_mode
        )
        return self._add(line, mark, "user")

    def command(self, content: Content, *, typed: str, uuid: str | None = None) -> Noted:
        """The user typed a command: a turn begins, and `content` says which command it was."""
        self._begin(typed)
        return self.note(content, is_meta=False, uuid=uuid)

    def note(
        self, content: Content, *, is_meta: bool = True, uuid: str | None = None, source_call: str | None = None
    ) -> Noted:
        """The program says something on the user's side; `source_call` is the call that made it say so."""
        mark = self._mark(uuid)
        line = transcript_entries.note(
            content, mark, self.origin, prompt_id=self.prompt_id, is_meta=is_meta, source_call=source_call
        )
        return self._add(line, mark, "user")

    def midturn(self, content: Content, *, uuid: str | None = None) -> Noted:
        """A message of the user joined the turn that is under way."""
        self._take("remove", content)
        mark = self._mark(uuid)
        value = {"type": "queued_command", "prompt": content, "commandMode": "prompt", "timestamp": mark.timestamp}
        return self._add(transcript_entries.attachment(value, mark, self.origin), mark, "user")

    def assistant(
        self, message: dict[str, Any], blocks: Sequence[tuple[str, dict[str, Any]]], *, request_id: str | None
    ) -> None:
        """The model answered: each block with the id of its event, the message with the final usage."""
        # Some endpoints name neither; Claude Code hangs over a transcript that holds a null there (seen with 2.1.197).
        message = message | {"id": message.get("id") or f"msg_{new_uuid()}", "model": message.get("model") or "unknown"}
        for uuid, block in blocks:
            mark = self._mark(uuid)
            line = transcript_entries.assistant(message, block, mark, self.origin, request_id=request_id)
            self._add(line, mark, "assistant")
        self._release({uuid for uuid, _ in blocks})

    def synthetic(
        self,
        message: dict[str, Any],
        *,
        uuid: str,
        request_id: str | None = None,
        error: str | None = None,
        status: int | None = None,
    ) -> None:
        """The program wrote a message in the model's place; it is not sent to the model again."""
        mark = self._mark(uuid)
        line = transcript_entries.synthetic(
            message, mark, self.origin, request_id=request_id, error=error, status=status
        )
        self._add(line, mark, None)

    def tool_result(
        self, block: dict[str, Any], *, detail: Any, source: str, uuid: str | None = None, timestamp: str | None = None
    ) -> Noted:
        """A tool answered. `source` is the id of the event that held the call.

        Where the answer of the model is not complete yet, the line waits for it.
        """
        mark = Mark(uuid or new_uuid(), timestamp or clock.iso(clock.now()), source)
        line = transcript_entries.tool_result(
            block, mark, self.origin, prompt_id=self.prompt_id, detail=detail, source=source
        )
        if any(known == source for known, _ in reversed(self._lines)):
            return self._add(line, mark, "user")
        self._waiting.append(line)
        return Noted(mark.uuid, mark.timestamp)

    def compacted(self, metadata: dict[str, Any], summary: str, *, boundary: str, anchor: str) -> Noted:
        """A summary takes the place of what was said; `boundary` and `anchor` are the ids of its two lines."""
        mark = self._mark(boundary)
        self._add(transcript_entries.boundary(metadata, mark, self.origin), mark, None)
        preserved = (metadata.get("preservedMessages") or {}).get("uuids") or []
        kept = [line for line in self._lines if line[0] in preserved]
        mark = self._mark(anchor)
        line = transcript_entries.note(
            summary, mark, self.origin, prompt_id=self.prompt_id, is_meta=False, is_summary=True
        )
        noted = self._add(line, mark, "user")
        self._lines = [(anchor, "user"), *kept]
        return noted

    def last_lines(self, messages: int) -> list[str]:
        """The ids of the lines that the last so many messages of the conversation are made of."""
        ids: list[str] = []
        role = None
        for uuid, whose in reversed(self._lines):
            if whose != role:
                role, messages = whose, messages - 1
                if messages < 0:
                    break
            ids.append(uuid)
        return ids[::-1]

    def flush(self) -> None:
        """Write what was collected; when this returns it is on the disk. It blocks for as long as the disk takes."""
        self._encode()
        self._file.drain()

    async def save(self) -> None:
        """`flush`, while other things go on."""
        self._encode()
        if self._file.is_behind:
            await asyncio.to_thread(self._file.drain)

    def close(self) -> None:
        """Write the last lines and let the transcript go; doing it twice is fine."""
        if self._leaf == self.history.leaf:
            self._buffer.clear()  # nothing was said: nothing is kept
        elif self.path is not None:
            self._buffer.append(transcript_entries.last_prompt(self._last_prompt, self._leaf, session_id=self.id))
        try:
            self.flush()
        finally:
            self._file.close()

    def _encode(self) -> None:
        """Lines become bytes in the thread that made them; only bytes reach the one that writes."""
        lines, self._buffer = self._buffer, []
        if lines:
            self._file.add(b"".join(map(transcript_entries.encode, lines)))

    def _copied(self, source: Path) -> Iterator[bytes]:
        """The lines of the conversation that this session is a copy of, as lines of this session."""
        for data in lines_of(source):
            line = _line_of(data, self.history.chain)
            if line is not None:
                yield transcript_entries.encode(line | {"sessionId": self.id})

    def _mark(self, uuid: str | None) -> Mark:
        return Mark(uuid or new_uuid(), clock.iso(clock.now()), self._leaf)

    def _add(self, line: Line, mark: Mark, role: str | None) -> Noted:
        self._buffer.append(line)
        self._leaf = mark.uuid
        if role is not None:
            self._lines.append((mark.uuid, role))
        return Noted(mark.uuid, mark.timestamp)

    def _begin(self, content: Content) -> None:
        self._take("dequeue", content)
        self.prompt_id = new_uuid()
        self._waiting.clear()
        self._last_prompt = _text(content)

    def _take(self, operation: str, content: Content) -> None:
        """A message leaves the queue; one whose coming was not told has come just now."""
        if self._queued == 0:
            self.enqueued(content)
        self._queued -= 1
        self._queue(operation, None)

    def _queue(self, operation: str, content: Content | None) -> None:
        timestamp = clock.iso(clock.now())
        self._buffer.append(
            transcript_entries.queue(operation, session_id=self.id, timestamp=timestamp, content=content)
        )

    def _release(self, sources: set[str]) -> None:
        """Let the answers of tools in that came before the model's own answer was complete."""
        waiting, self._waiting = self._waiting, []
        for line in waiting:
            if line["sourceToolAssistantUUID"] in sources:
                self._add(line, Mark(line["uuid"], line["timestamp"], line["parentUuid"]), "user")
            else:
                self._waiting.append(line)


def _line_of(data: bytes, chain: frozenset[str]) -> Line | None:
    try:
        line = msgspec.json.decode(data)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    return line if isinstance(line, dict) and line.get("uuid") in chain else None


def _text(content: Content) -> str:
    """The words of a prompt in one short line, as programs that list sessions show them."""
    texts = [content] if isinstance(content, str) else [block.get("text") for block in content]
    line = " ".join("\n".join(text for text in texts if isinstance(text, str)).split("\n")).strip()
    return line if len(line) <= _SHOWN_CHARACTERS else line[:_SHOWN_CHARACTERS].rstrip() + "…"

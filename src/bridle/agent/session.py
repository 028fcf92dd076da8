"""One session and its transcript, written in batches that are on the disk before what follows from them is told."""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
import threading
from collections import deque
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from bridle.agent import history as histories
from bridle.agent import transcript
from bridle.agent.history import History
from bridle.agent.transcript import Content, Line, Mark, Origin
from bridle.errors import DiskError, UsageError
from bridle.ground import clock, disk

# A copied conversation is written in parts of about this size: memory stays flat, and calls few.
_COPY_BYTES = 1024 * 1024

# As much of a prompt as a list of sessions has room for.
_SHOWN_CHARACTERS = 200


# What file systems say that cannot give a file a second name.
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK)


def hold(fd: int) -> bool:
    """Take a transcript for this process alone; False where another one has it. It is let go when `fd` is closed."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # a file system without locks: there nobody can tell, and the work goes on
    return True


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
        self.path = path
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
        self._copied_from = copied_from
        self._last_prompt: str | None = None
        self._fd = fd
        self._gap = b"" if fd is None else _gap(fd)
        self._encoded: deque[bytes] = deque()
        self._writing = threading.Lock()

    @property
    def id(self) -> str:
        """The id of the session."""
        return self.origin.session_id

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
        line = transcript.prompt(content, mark, self.origin, prompt_id=self.prompt_id, permission_mode=permission_mode)
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
        line = transcript.note(
            content, mark, self.origin, prompt_id=self.prompt_id, is_meta=is_meta, source_call=source_call
        )
        return self._add(line, mark, "user")

    def midturn(self, content: Content, *, uuid: str | None = None) -> Noted:
        """A message of the user joined the turn that is under way."""
        self._take("remove", content)
        mark = self._mark(uuid)
        value = {"type": "queued_command", "prompt": content, "commandMode": "prompt", "timestamp": mark.timestamp}
        return self._add(transcript.attachment(value, mark, self.origin), mark, "user")

    def assistant(
        self, message: dict[str, Any], blocks: Sequence[tuple[str, dict[str, Any]]], *, request_id: str | None
    ) -> None:
        """The model answered: each block with the id of its event, the message with the final usage."""
        # Some endpoints name neither; Claude Code hangs over a transcript that holds a null there (seen with 2.1.197).
        message = message | {"id": message.get("id") or f"msg_{new_uuid()}", "model": message.get("model") or "unknown"}
        for uuid, block in blocks:
            mark = self._mark(uuid)
            line = transcript.assistant(message, block, mark, self.origin, request_id=request_id)
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
        line = transcript.synthetic(message, mark, self.origin, request_id=request_id, error=error, status=status)
        self._add(line, mark, None)

    def tool_result(
        self, block: dict[str, Any], *, detail: Any, source: str, uuid: str | None = None, timestamp: str | None = None
    ) -> Noted:
        """A tool answered. `source` is the id of the event that held the call.

        Where the answer of the model is not complete yet, the line waits for it.
        """
        mark = Mark(uuid or new_uuid(), timestamp or clock.iso(clock.now()), source)
        line = transcript.tool_result(block, mark, self.origin, prompt_id=self.prompt_id, detail=detail, source=source)
        if any(known == source for known, _ in reversed(self._lines)):
            return self._add(line, mark, "user")
        self._waiting.append(line)
        return Noted(mark.uuid, mark.timestamp)

    def compacted(self, metadata: dict[str, Any], summary: str, *, boundary: str, anchor: str) -> Noted:
        """A summary takes the place of what was said; `boundary` and `anchor` are the ids of its two lines."""
        mark = self._mark(boundary)
        self._add(transcript.boundary(metadata, mark, self.origin), mark, None)
        preserved = (metadata.get("preservedMessages") or {}).get("uuids") or []
        kept = [line for line in self._lines if line[0] in preserved]
        mark = self._mark(anchor)
        line = transcript.note(summary, mark, self.origin, prompt_id=self.prompt_id, is_meta=False, is_summary=True)
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
        self._drain()

    async def save(self) -> None:
        """`flush`, while other things go on."""
        self._encode()
        if self._encoded:
            await asyncio.to_thread(self._drain)

    def close(self) -> None:
        """Write the last lines and let the transcript go; doing it twice is fine."""
        if self._leaf == self.history.leaf:
            self._buffer.clear()  # nothing was said: nothing is kept
        elif self.path is not None:
            self._buffer.append(transcript.last_prompt(self._last_prompt, self._leaf, session_id=self.id))
        try:
            self.flush()
        finally:
            fd, self._fd = self._fd, None
            self.path = None
            if fd is not None:
                os.close(fd)

    def _encode(self) -> None:
        """Lines become bytes in the thread that made them; only bytes reach the one that writes."""
        lines, self._buffer = self._buffer, []
        if self.path is not None and lines:
            self._encoded.append(b"".join(map(transcript.encode, lines)))

    def _drain(self) -> None:
        with self._writing:
            parts: list[bytes] = []
            while self._encoded:
                parts.append(self._encoded.popleft())
            if not parts:
                return
            data = b"".join(parts)
            try:
                self._write(data)
            except BaseException:
                self._encoded.appendleft(data)
                raise

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
        self._buffer.append(transcript.queue(operation, session_id=self.id, timestamp=timestamp, content=content))

    def _release(self, sources: set[str]) -> None:
        """Let the answers of tools in that came before the model's own answer was complete."""
        waiting, self._waiting = self._waiting, []
        for line in waiting:
            if line["sourceToolAssistantUUID"] in sources:
                self._add(line, Mark(line["uuid"], line["timestamp"], line["parentUuid"]), "user")
            else:
                self._waiting.append(line)

    def _write(self, data: bytes) -> None:
        if self._fd is None:
            self._fd = self._create(data)
        else:
            disk.append_line(self._fd, self._gap + data, durable=True)
            self._gap = b""

    def _create(self, data: bytes) -> int:
        """Begin the file with everything in it: it is there as a whole, or not at all."""
        assert self.path is not None  # noqa: S101 -- flush has looked
        above = _missing(self.path.parent)
        folder = disk.make_private_folder(self.path.parent)
        temporary = folder / f".{self.id}-{os.urandom(4).hex()}.tmp"
        fd = disk.create_exclusive(temporary)
        try:
            hold(fd)
            for part in self._copied():
                disk.write_all(fd, part)
            disk.append_line(fd, data, durable=True)
            _publish(temporary, self.path)
        except BaseException:
            os.close(fd)
            raise
        finally:
            temporary.unlink(missing_ok=True)
        for each in (folder, *above):
            _sync_folder(each)
        return fd

    def _copied(self) -> Iterable[bytes]:
        """The lines of the conversation that this session is a copy of, as lines of this session."""
        if self._copied_from is None:
            return
        parts: list[bytes] = []
        size = 0
        for data in histories.lines_of(self._copied_from):
            line = _line_of(data, self.history.chain)
            if line is None:
                continue
            parts.append(transcript.encode(line | {"sessionId": self.id}))
            size += len(parts[-1])
            if size >= _COPY_BYTES:
                yield b"".join(parts)
                parts, size = [], 0
        yield b"".join(parts)


def _line_of(data: bytes, chain: frozenset[str]) -> Line | None:
    try:
        line = msgspec.json.decode(data)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    return line if isinstance(line, dict) and line.get("uuid") in chain else None


def _missing(folder: Path) -> list[Path]:
    """The folders that will hold the new ones on the way to a folder: their entries must be made durable too."""
    return [above.parent for above in (folder, *folder.parents) if not above.exists()]


def _publish(temporary: Path, path: Path) -> None:
    """Give the file its name, which nobody else may have taken."""
    try:
        try:
            os.link(temporary, path)
        except OSError as error:
            if error.errno not in _NO_LINKS or path.exists():
                raise
            os.rename(temporary, path)  # a file system without links: there this is all that can be done
    except FileExistsError as error:
        raise UsageError(f"Error: Session ID {path.stem} is already in use.") from error
    except OSError as error:
        raise DiskError(
            f"the transcript {path} could not be made: {error.strerror}",
            remedy="Check the permissions and the space there, or run with --no-session-persistence.",
            payload=error.errno,
        ) from error


def _gap(fd: int) -> bytes:
    """The end of a line that a crash has torn, so that the next one begins anew."""
    size = os.fstat(fd).st_size
    return b"" if size == 0 or os.pread(fd, 1, size - 1) == b"\n" else b"\n"


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        disk.sync(fd)
    finally:
        os.close(fd)


def _text(content: Content) -> str:
    """The words of a prompt in one short line, as programs that list sessions show them."""
    texts = [content] if isinstance(content, str) else [block.get("text") for block in content]
    line = " ".join("\n".join(text for text in texts if isinstance(text, str)).split("\n")).strip()
    return line if len(line) <= _SHOWN_CHARACTERS else line[:_SHOWN_CHARACTERS].rstrip() + "…"

"""What a transcript says: which of its lines are the conversation, read as a stream and with every fault survived.

Lines form a tree: each names the line that it follows. The conversation is the path to the last one, with the answers
of tools that ran side by side, which hang beside that path. A summary stands for all that came before it.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from bridle.agent.messages import Message, as_messages
from bridle.errors import DiskError

# A line holds at most one answer or one tool result, with the file that an edit replaced. Nothing that was written by
# a program like ours is longer, and holding it would take memory for nothing.
LINE_LIMIT_BYTES = 32 * 1024 * 1024

_CHUNK_BYTES = 1024 * 1024
_BOUNDARY = b'"compact_boundary"'


class _Said(msgspec.Struct):
    """The message of a line."""

    role: str | None = None
    id: str | None = None
    model: str | None = None
    content: msgspec.Raw = msgspec.Raw(b"null")
    usage: msgspec.Raw = msgspec.Raw(b"null")


class _Preserved(msgspec.Struct):
    anchorUuid: str | None = None  # noqa: N815 -- the format's name
    uuids: list[str] = msgspec.field(default_factory=list)
    allUuids: list[str] = msgspec.field(default_factory=list)  # noqa: N815 -- the format's name


class _Metadata(msgspec.Struct):
    preservedMessages: _Preserved | None = None  # noqa: N815 -- the format's name
    cumulativeDroppedTokens: int | None = None  # noqa: N815 -- the format's name


class _Attached(msgspec.Struct):
    type: str | None = None
    prompt: msgspec.Raw = msgspec.Raw(b"null")


class _Line(msgspec.Struct):
    """The fields of a line that matter here; all others are passed over unread."""

    type: str
    subtype: str | None = None
    uuid: str | None = None
    parentUuid: str | None = None  # noqa: N815 -- the format's name
    isSidechain: bool = False  # noqa: N815 -- the format's name
    isApiErrorMessage: bool = False  # noqa: N815 -- the format's name
    sourceToolAssistantUUID: str | None = None  # noqa: N815 -- the format's name
    message: _Said | None = None
    attachment: _Attached | None = None
    compactMetadata: _Metadata | None = None  # noqa: N815 -- the format's name
    customTitle: str | None = None  # noqa: N815 -- the format's name


_CHAINED = frozenset({"user", "assistant", "attachment", "system"})


class _Entry(msgspec.Struct):
    """One line of the tree."""

    uuid: str
    parent: str | None
    role: str | None
    """Whose message it is; none for a line that only holds the chain together."""
    content: bytes
    message_id: str | None = None
    source: str | None = None
    usage: bytes = b"null"
    is_root: bool = False


class History(msgspec.Struct, frozen=True):
    """The conversation that a transcript holds."""

    messages: list[Message] = msgspec.field(default_factory=list)
    """Ready for the endpoint: roles alternate, every call is answered."""
    leaf: str | None = None
    """The id of the line that the next one follows."""
    lines: tuple[tuple[str, str], ...] = ()
    """The id and the role of each line that has a message, oldest first."""
    chain: frozenset[str] = frozenset()
    """The ids of all lines that belong to the conversation; a fork copies these."""
    title: str | None = None
    usage: dict[str, object] = msgspec.field(default_factory=dict)
    """What the last answer of the model used."""
    dropped_tokens: int = 0
    """How much earlier summaries have left out in all."""


class NotInTranscript(LookupError):
    """The line at which the conversation was to be cut is not there."""


def load(path: Path, *, until: str | None = None) -> History:
    """Read the conversation; with `until`, only up to the line of that id."""
    cut = _last_summary(path)
    reading = _Reading()
    for at, data in _lines_at(path):
        if cut is not None and at < cut.at and not cut.needs(data):
            continue  # a summary stands for it: it is not even looked at
        line = _decoded(data)
        if line is not None:
            reading.add(line)
    return reading.history(until)


def lines_of(path: Path) -> Iterator[bytes]:
    """Each line of a file, without its end; one that is too long is passed over and never held."""
    return (data for _, data in _lines_at(path))


def _lines_at(path: Path) -> Iterator[tuple[int, bytes]]:
    """Each line, with the place at which it begins."""
    try:
        with path.open("rb", buffering=_CHUNK_BYTES) as file:
            at = 0
            while line := file.readline(LINE_LIMIT_BYTES):
                if line.endswith(b"\n") or len(line) < LINE_LIMIT_BYTES:
                    yield at, line.rstrip(b"\r\n")
                    at += len(line)
                else:
                    _pass_over(file)
                    at = file.tell()
    except OSError as error:
        raise DiskError(
            f"the transcript {path} could not be read: {error.strerror or error}",
            remedy="Check the owner and the permissions of the file, or begin a new session.",
            payload=error.errno,
        ) from error


def title_of(path: Path) -> str | None:
    """The name that a person gave to the session, if any; the last one counts."""
    title = None
    for data in lines_of(path):
        if b'"customTitle"' in data:
            line = _decoded(data)
            title = line.customTitle if line is not None and line.type == "custom-title" else title
    return title


def holds_conversation(path: Path) -> bool:
    """Whether anything was said in it."""
    for data in lines_of(path):
        line = _decoded(data)
        if line is not None and line.type in ("user", "assistant") and not line.isSidechain:
            return True
    return False


class _Cut(msgspec.Struct, frozen=True):
    """The last summary: where its line begins, and the ids of earlier lines that it leaves as they were."""

    at: int
    preserved: tuple[bytes, ...]

    def needs(self, data: bytes) -> bool:
        """Whether a line before it may still matter."""
        return b'"custom-title"' in data or any(name in data for name in self.preserved)


def _last_summary(path: Path) -> _Cut | None:
    """Look for the last summary from the end of the file, so that a long past costs nothing but its reading."""
    try:
        with path.open("rb") as file:
            end = file.seek(0, os.SEEK_END)
            while (at := _found_before(file, _BOUNDARY, end)) is not None:
                start = _line_start(file, at)
                file.seek(start)
                line = _decoded(file.readline(LINE_LIMIT_BYTES).rstrip(b"\r\n"))
                if line is not None and line.subtype == "compact_boundary" and line.uuid and not line.isSidechain:
                    names = _preserved(line.compactMetadata)
                    return _Cut(start, tuple(name.encode() for name in names if name))
                end = start
    except OSError:
        return None  # the one who reads the lines tells what is wrong
    return None


def _line_start(file: BinaryIO, at: int) -> int:
    found = _found_before(file, b"\n", at)
    return 0 if found is None else found + 1


def _found_before(file: BinaryIO, mark: bytes, end: int) -> int | None:
    """The last place before `end` at which the mark stands."""
    while end > 0:
        start = max(0, end - _CHUNK_BYTES)
        file.seek(start)
        found = file.read(end - start).rfind(mark)
        if found >= 0:
            return start + found
        if start == 0:
            return None
        end = start + len(mark) - 1  # it may stand across the cut
    return None


def _preserved(metadata: _Metadata | None) -> list[str]:
    preserved = (metadata.preservedMessages if metadata is not None else None) or _Preserved()
    return preserved.allUuids or preserved.uuids


class _Reading:
    """What is known of the tree while the lines come in; what a summary replaces is let go at once."""

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}
        self._anchor: str | None = None
        self._preserved: list[_Entry] = []
        self._title: str | None = None
        self._dropped = 0

    def add(self, line: _Line) -> None:
        """Take in one line."""
        if line.type == "custom-title":
            self._title = line.customTitle
        elif line.type in _CHAINED and not line.isSidechain and line.uuid:
            if line.subtype == "compact_boundary":
                self._cut(line.compactMetadata or _Metadata())
            # A line that comes again (a resumed session that was copied) stays where it was first.
            self._entries.setdefault(line.uuid, _entry(line, line.uuid))

    def history(self, until: str | None) -> History:
        """The conversation that ends with the last line, or with the one that is named."""
        order = list(self._entries.values())
        if until is not None:
            if until not in self._entries:
                raise NotInTranscript(until)
            order = order[: order.index(self._entries[until]) + 1]
        if not order:
            return History(title=self._title)
        kept = self._with_preserved(_conversation(order))
        return History(
            messages=as_messages((entry.role, entry.content) for entry in kept if entry.role),
            leaf=order[-1].uuid,
            lines=tuple((entry.uuid, entry.role) for entry in kept if entry.role),
            chain=frozenset(entry.uuid for entry in kept),
            title=self._title,
            usage=_usage_of(kept),
            dropped_tokens=self._dropped,
        )

    def _cut(self, metadata: _Metadata) -> None:
        self._dropped = metadata.cumulativeDroppedTokens or 0
        known = {entry.uuid: entry for entry in self._preserved} | self._entries
        self._preserved = [known[name] for name in _preserved(metadata) if name in known]
        self._anchor = metadata.preservedMessages.anchorUuid if metadata.preservedMessages is not None else None
        self._entries.clear()

    def _with_preserved(self, kept: list[_Entry]) -> list[_Entry]:
        """Put back what the summary left as it was, right after the summary."""
        for at, entry in enumerate(kept):
            if entry.uuid == self._anchor:
                return [*kept[: at + 1], *self._preserved, *kept[at + 1 :]]
        return kept


def _conversation(order: list[_Entry]) -> list[_Entry]:
    """The path to the last line, and what hangs beside it: blocks of the same answer, results of its calls."""
    path = _path(order)
    answers = {entry.message_id for entry in order if entry.uuid in path and entry.message_id}
    kept: list[_Entry] = []
    held: set[str] = set()
    for entry in order:
        is_part = entry.uuid in path or (entry.message_id is not None and entry.message_id in answers)
        if is_part or (entry.source is not None and entry.source in held):
            kept.append(entry)
            held.add(entry.uuid)
    return kept


def _path(order: list[_Entry]) -> set[str]:
    """The ids from the last line back to the first; where a line is missing, the one before it in the file is next."""
    places = {entry.uuid: place for place, entry in enumerate(order)}
    path: set[str] = set()
    at: int | None = len(order) - 1
    while at is not None and at >= 0:
        entry = order[at]
        if entry.uuid in path:
            return path  # lines that follow each other in a circle
        path.add(entry.uuid)
        if entry.is_root:
            return path
        at = places.get(entry.parent or "", at - 1)
    return path


def _entry(line: _Line, uuid: str) -> _Entry:
    entry = _Entry(uuid, line.parentUuid, None, b"null", source=line.sourceToolAssistantUUID)
    entry.is_root = line.parentUuid is None
    if line.type == "attachment" and line.attachment is not None and line.attachment.type == "queued_command":
        entry.role, entry.content = "user", bytes(line.attachment.prompt)
    said = line.message
    if said is None or line.type not in ("user", "assistant"):
        return entry
    is_ours = said.model == "<synthetic>" or line.isApiErrorMessage
    if is_ours or said.role not in (None, line.type):
        return entry  # told to people, never to the model
    entry.role, entry.content, entry.usage = line.type, bytes(said.content), bytes(said.usage)
    entry.message_id = said.id if line.type == "assistant" else None
    return entry


def _usage_of(kept: list[_Entry]) -> dict[str, object]:
    for entry in reversed(kept):
        if entry.role == "assistant":
            try:
                usage = msgspec.json.decode(entry.usage)
            except (msgspec.MsgspecError, ValueError, RecursionError):
                return {}
            return usage if isinstance(usage, dict) else {}
    return {}


@functools.cache
def _decoder() -> msgspec.json.Decoder[_Line]:
    return msgspec.json.Decoder(_Line)  # made on the first use: a new session has nothing to read


def _decoded(data: bytes) -> _Line | None:
    """The line, or nothing where it is torn or not ours."""
    if not data or data[:1] != b"{":
        return None
    try:
        return _decoder().decode(data)
    except msgspec.ValidationError:
        return None
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return _mended(data)


def _mended(data: bytes) -> _Line | None:
    """A line with half a character in it, which the strict reader refuses; the model gets a question mark there."""
    try:
        return _decoder().decode(json.dumps(json.loads(data), ensure_ascii=False).encode("utf-8", "replace"))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def _pass_over(file: BinaryIO) -> None:
    """Leave the rest of a line behind."""
    while (part := file.readline(_CHUNK_BYTES)) and not part.endswith(b"\n"):
        pass

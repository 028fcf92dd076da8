"""Reads a transcript line by line: only the fields that matter, and never more than one line in memory."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from bridle.errors import DiskError

# A line holds at most one block or one tool result, with the file that an edit replaced. Longer lines are skipped.
LINE_LIMIT_BYTES = 32 * 1024 * 1024

_CHUNK_BYTES = 1024 * 1024
_BOUNDARY = b'"compact_boundary"'


class LineMessage(msgspec.Struct):
    """The message of a line."""

    role: str | None = None
    id: str | None = None
    model: str | None = None
    content: msgspec.Raw = msgspec.Raw(b"null")
    usage: msgspec.Raw = msgspec.Raw(b"null")


class Preserved(msgspec.Struct):
    """The lines before a summary that it keeps."""

    anchorUuid: str | None = None  # noqa: N815 -- the format's name
    uuids: list[str] = msgspec.field(default_factory=list)
    allUuids: list[str] = msgspec.field(default_factory=list)  # noqa: N815 -- the format's name


class Metadata(msgspec.Struct):
    """The metadata of a compaction."""

    preservedMessages: Preserved | None = None  # noqa: N815 -- the format's name
    cumulativeDroppedTokens: int | None = None  # noqa: N815 -- the format's name


class Attached(msgspec.Struct):
    """The content of an attachment line."""

    type: str | None = None
    prompt: msgspec.Raw = msgspec.Raw(b"null")


class Line(msgspec.Struct):
    """The fields of a line that matter here; all others are ignored."""

    type: str
    subtype: str | None = None
    uuid: str | None = None
    parentUuid: str | None = None  # noqa: N815 -- the format's name
    isSidechain: bool = False  # noqa: N815 -- the format's name
    isApiErrorMessage: bool = False  # noqa: N815 -- the format's name
    sourceToolAssistantUUID: str | None = None  # noqa: N815 -- the format's name
    message: LineMessage | None = None
    attachment: Attached | None = None
    compactMetadata: Metadata | None = None  # noqa: N815 -- the format's name
    customTitle: str | None = None  # noqa: N815 -- the format's name
    sessionId: str | None = None  # noqa: N815 -- the format's name


def lines_of(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file without their ends; lines that are too long are skipped."""
    return (data for _, data in lines_at(path))


def lines_at(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield each line with its offset in the file."""
    try:
        with path.open("rb", buffering=_CHUNK_BYTES) as file:
            at = 0
            while line := file.readline(LINE_LIMIT_BYTES):
                if line.endswith(b"\n") or len(line) < LINE_LIMIT_BYTES:
                    yield at, line.rstrip(b"\r\n")
                    at += len(line)
                else:
                    while (part := file.readline(_CHUNK_BYTES)) and not part.endswith(b"\n"):
                        pass
                    at = file.tell()
    except OSError as error:
        raise DiskError(
            f"cannot read the transcript {path}: {error.strerror or error}",
            remedy="Check the owner and permissions of the file, or start a new session.",
            payload=error.errno,
        ) from error


def title_of(path: Path) -> str | None:
    """Return the title that the user gave to the session; the last one counts."""
    title = None
    for data in lines_of(path):
        if b'"customTitle"' in data:
            line = decode(data)
            title = line.customTitle if line is not None and line.type == "custom-title" else title
    return title


def session_of(path: Path) -> str | None:
    """Return the id of the session that the messages of a transcript name."""
    lines = (decode(data) for data in lines_of(path))
    ids = (line.sessionId for line in lines if line is not None and line.type in ("user", "assistant"))
    return next((name for name in ids if name), None)


def holds_conversation(path: Path) -> bool:
    """Return whether a transcript has a message."""
    for data in lines_of(path):
        line = decode(data)
        if line is not None and line.type in ("user", "assistant") and not line.isSidechain:
            return True
    return False


class LastSummary(msgspec.Struct, frozen=True):
    """The last summary: the offset of its line, and the ids of earlier lines that it keeps."""

    at: int
    preserved: tuple[bytes, ...]

    def needs(self, data: bytes) -> bool:
        """Return whether a line before the summary still matters."""
        return b'"custom-title"' in data or any(name in data for name in self.preserved)


def last_summary(path: Path) -> LastSummary | None:
    """Find the last summary from the end of the file, so that earlier lines need not be decoded."""
    try:
        with path.open("rb") as file:
            end = file.seek(0, os.SEEK_END)
            while (at := _find_before(file, _BOUNDARY, end)) is not None:
                line_end = _find_before(file, b"\n", at)
                start = 0 if line_end is None else line_end + 1
                file.seek(start)
                line = decode(file.readline(LINE_LIMIT_BYTES).rstrip(b"\r\n"))
                if line is not None and line.subtype == "compact_boundary" and line.uuid and not line.isSidechain:
                    names = preserved_by(line.compactMetadata)
                    return LastSummary(start, tuple(name.encode() for name in names if name))
                end = start
    except OSError:
        return None  # reading the lines reports the error
    return None


def _find_before(file: BinaryIO, mark: bytes, end: int) -> int | None:
    """Return the last offset of the mark before `end`."""
    while end > 0:
        start = max(0, end - _CHUNK_BYTES)
        file.seek(start)
        offset = file.read(end - start).rfind(mark)
        if offset >= 0:
            return start + offset
        if start == 0:
            return None
        end = start + len(mark) - 1  # the mark may be split between two chunks
    return None


def preserved_by(metadata: Metadata | None) -> list[str]:
    """Return the ids of the lines that a summary keeps."""
    preserved = (metadata.preservedMessages if metadata is not None else None) or Preserved()
    return preserved.allUuids or preserved.uuids


@functools.cache
def _decoder() -> msgspec.json.Decoder[Line]:
    return msgspec.json.Decoder(Line)  # created on first use: a new session reads nothing


def decode(data: bytes) -> Line | None:
    """Decode a line; None if it is incomplete or not of this kind."""
    if not data or data[:1] != b"{":
        return None
    try:
        return _decoder().decode(data)
    except msgspec.ValidationError:
        return None
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return _decode_loosely(data)


def _decode_loosely(data: bytes) -> Line | None:
    """Decode a line with a lone surrogate, which msgspec refuses; it becomes a question mark."""
    try:
        return _decoder().decode(json.dumps(json.loads(data), ensure_ascii=False).encode("utf-8", "replace"))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None

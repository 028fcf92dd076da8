"""Reading a transcript line by line: only the fields that matter, and never more of the file than one line."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from bridle.errors import DiskError

# A line holds at most one answer or one tool result, with the file that an edit replaced. Nothing that was written by
# a program like ours is longer, and holding it would take memory for nothing.
LINE_LIMIT_BYTES = 32 * 1024 * 1024

_CHUNK_BYTES = 1024 * 1024
_BOUNDARY = b'"compact_boundary"'


class Said(msgspec.Struct):
    """The message of a line."""

    role: str | None = None
    id: str | None = None
    model: str | None = None
    content: msgspec.Raw = msgspec.Raw(b"null")
    usage: msgspec.Raw = msgspec.Raw(b"null")


class Preserved(msgspec.Struct):
    """Lines before a summary that it leaves as they were."""

    anchorUuid: str | None = None  # noqa: N815 -- the format's name
    uuids: list[str] = msgspec.field(default_factory=list)
    allUuids: list[str] = msgspec.field(default_factory=list)  # noqa: N815 -- the format's name


class Metadata(msgspec.Struct):
    """What the line of a summary says about it."""

    preservedMessages: Preserved | None = None  # noqa: N815 -- the format's name
    cumulativeDroppedTokens: int | None = None  # noqa: N815 -- the format's name


class Attached(msgspec.Struct):
    """Something that the model was shown besides the messages."""

    type: str | None = None
    prompt: msgspec.Raw = msgspec.Raw(b"null")


class Line(msgspec.Struct):
    """The fields of a line that matter here; all others are passed over unread."""

    type: str
    subtype: str | None = None
    uuid: str | None = None
    parentUuid: str | None = None  # noqa: N815 -- the format's name
    isSidechain: bool = False  # noqa: N815 -- the format's name
    isApiErrorMessage: bool = False  # noqa: N815 -- the format's name
    sourceToolAssistantUUID: str | None = None  # noqa: N815 -- the format's name
    message: Said | None = None
    attachment: Attached | None = None
    compactMetadata: Metadata | None = None  # noqa: N815 -- the format's name
    customTitle: str | None = None  # noqa: N815 -- the format's name


def lines_of(path: Path) -> Iterator[bytes]:
    """Each line of a file, without its end; one that is too long is passed over and never held."""
    return (data for _, data in lines_at(path))


def lines_at(path: Path) -> Iterator[tuple[int, bytes]]:
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
            line = decoded(data)
            title = line.customTitle if line is not None and line.type == "custom-title" else title
    return title


def holds_conversation(path: Path) -> bool:
    """Whether anything was said in it."""
    for data in lines_of(path):
        line = decoded(data)
        if line is not None and line.type in ("user", "assistant") and not line.isSidechain:
            return True
    return False


class Cut(msgspec.Struct, frozen=True):
    """The last summary: where its line begins, and the ids of earlier lines that it leaves as they were."""

    at: int
    preserved: tuple[bytes, ...]

    def needs(self, data: bytes) -> bool:
        """Whether a line before it may still matter."""
        return b'"custom-title"' in data or any(name in data for name in self.preserved)


def last_summary(path: Path) -> Cut | None:
    """Look for the last summary from the end of the file, so that a long past costs nothing but its reading."""
    try:
        with path.open("rb") as file:
            end = file.seek(0, os.SEEK_END)
            while (at := _found_before(file, _BOUNDARY, end)) is not None:
                start = _line_start(file, at)
                file.seek(start)
                line = decoded(file.readline(LINE_LIMIT_BYTES).rstrip(b"\r\n"))
                if line is not None and line.subtype == "compact_boundary" and line.uuid and not line.isSidechain:
                    names = preserved_by(line.compactMetadata)
                    return Cut(start, tuple(name.encode() for name in names if name))
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


def preserved_by(metadata: Metadata | None) -> list[str]:
    """The ids of the lines that a summary leaves as they were."""
    preserved = (metadata.preservedMessages if metadata is not None else None) or Preserved()
    return preserved.allUuids or preserved.uuids


@functools.cache
def _decoder() -> msgspec.json.Decoder[Line]:
    return msgspec.json.Decoder(Line)  # made on the first use: a new session has nothing to read


def decoded(data: bytes) -> Line | None:
    """The line, or nothing where it is torn or not of this kind."""
    if not data or data[:1] != b"{":
        return None
    try:
        return _decoder().decode(data)
    except msgspec.ValidationError:
        return None
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return _mended(data)


def _mended(data: bytes) -> Line | None:
    """A line with half a character in it, which the strict reader refuses; the model gets a question mark there."""
    try:
        return _decoder().decode(json.dumps(json.loads(data), ensure_ascii=False).encode("utf-8", "replace"))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def _pass_over(file: BinaryIO) -> None:
    """Leave the rest of a line behind."""
    while (part := file.readline(_CHUNK_BYTES)) and not part.endswith(b"\n"):
        pass

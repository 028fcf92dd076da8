"""A part of a text file, found without holding more of the file than is shown."""

from __future__ import annotations

import os
import stat
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from bridle.agent.tools.files.known_files import View, file_digest
from bridle.agent.tools.files.save import Cancelled
from bridle.agent.tools.files.text_file import SAMPLE_BYTES, decode, is_binary, replace_broken_bytes

# What a call may show at once when it names no limit; the original has the same number, and says it in its advice.
WHOLE_LIMIT_BYTES = 256 * 1024
# To number the lines of a part, the file is read from its start: at about a gigabyte a second, two of them is the most
# that a turn should wait for.
SCAN_LIMIT_BYTES = 2 * 1024**3
# Far more than an answer may hold: what is beyond is counted and not kept.
_KEEP_LIMIT_BYTES = 4 * 1024 * 1024
_CHUNK_BYTES = 1024 * 1024


class FileTooLarge(Exception):
    """The file is larger than may be read in this way."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.size = size


class BinaryFile(Exception):
    """The file does not hold text."""


class NotRegularFile(Exception):
    """Not a file with content of its own: a pipe, a socket, a device."""


@dataclass(frozen=True)
class Excerpt:
    """Some lines of a file."""

    lines: list[str]
    total: int
    """How many lines the file has; the empty one after the last newline counts."""
    size: int
    """How many characters the lines have with their ends, also where not all of them were kept."""
    state: os.stat_result
    digest: str


def read_excerpt(path: Path, view: View, abandoned: threading.Event) -> Excerpt:
    """The lines that a view asks for; never waits for a pipe or a device."""
    with open_regular(path) as file:
        state = os.fstat(file.fileno())
        if state.st_size > (WHOLE_LIMIT_BYTES if view.limit is None else SCAN_LIMIT_BYTES):
            raise FileTooLarge(state.st_size)
        if is_binary(file.read(SAMPLE_BYTES)):
            raise BinaryFile
        file.seek(0)
        if view.limit is None:
            return _from_whole(file, view, state)
        return _from_scan(file, view, state, abandoned)


def open_regular(path: Path) -> BinaryIO:
    """Open a file with content of its own for reading; a folder raises IsADirectoryError."""
    # O_NONBLOCK: opening a named pipe that nobody writes to would wait for ever.
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        mode = os.fstat(fd).st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise NotRegularFile
        return open(fd, "rb")
    except BaseException:
        os.close(fd)
        raise


def _from_whole(file: BinaryIO, view: View, state: os.stat_result) -> Excerpt:
    data = file.read(WHOLE_LIMIT_BYTES + 1)  # files of /proc say that they have no bytes
    if len(data) > WHOLE_LIMIT_BYTES:
        raise FileTooLarge(len(data))
    lines = _lines(data)
    wanted = lines[_first(view) :]
    return Excerpt(wanted, len(lines), sum(map(len, wanted)) + len(wanted), state, file_digest(data))


def _from_scan(file: BinaryIO, view: View, state: os.stat_result, abandoned: threading.Event) -> Excerpt:
    from hashlib import blake2b  # late: most runs read no file

    if file.read(2) in (b"\xff\xfe", b"\xfe\xff"):
        return _from_wide(file, view, state)
    file.seek(0)
    digest = blake2b(digest_size=16)
    first, last = _first(view), _first(view) + (view.limit or 0)
    kept: list[bytes] = []
    seen = size = kept_bytes = 0
    while chunk := file.read(_CHUNK_BYTES):
        if abandoned.is_set():
            raise Cancelled
        digest.update(chunk)
        ends = chunk.count(b"\n")
        if seen < last and seen + ends >= first:
            part = chunk[_after(chunk, first - seen) : _after(chunk, last - seen)]
            size += len(part)
            if kept_bytes < _KEEP_LIMIT_BYTES:
                kept.append(part)
                kept_bytes += len(part)
        seen += ends
    lines = _lines(b"".join(kept))[: last - first] if seen >= first else []
    return Excerpt(lines, seen + 1, size, state, digest.hexdigest())


def _from_wide(file: BinaryIO, view: View, state: os.stat_result) -> Excerpt:
    """Of a file in UTF-16, whose line ends cannot be found byte by byte."""
    if state.st_size > _KEEP_LIMIT_BYTES:
        raise FileTooLarge(state.st_size)
    file.seek(0)
    data = file.read(_KEEP_LIMIT_BYTES)
    lines = _lines(data)
    wanted = lines[_first(view) :][: view.limit]
    return Excerpt(wanted, len(lines), sum(map(len, wanted)) + len(wanted), state, file_digest(data))


def _first(view: View) -> int:
    """The index of the first line; the lines count from one, and a zero means the first as well."""
    return max((view.offset or 0) - 1, 0)


def _after(chunk: bytes, count: int) -> int:
    """Where the text after so many line ends begins; the end of the chunk if it has not that many."""
    position = 0
    for _ in range(count):
        position = chunk.find(b"\n", position) + 1
        if position == 0:
            return len(chunk)
    return position


def _lines(data: bytes) -> list[str]:
    text = replace_broken_bytes(decode(data).raw).removeprefix("\ufeff")
    return [line.removesuffix("\r") for line in text.split("\n")]

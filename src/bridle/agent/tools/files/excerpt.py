"""Reads a part of a text file without holding the rest in memory."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from bridle.agent.tools.files.known_files import View, file_digest
from bridle.agent.tools.files.save import Cancelled
from bridle.agent.tools.files.text_file import SAMPLE_BYTES, decode, is_binary, replace_broken_bytes
from bridle.ground.files import real_path

# The largest file that is read without a limit; the same as in Claude Code.
WHOLE_LIMIT_BYTES = 256 * 1024
# To number lines, the file is read from its start, at about a gigabyte per second; a turn should not wait longer.
SCAN_LIMIT_BYTES = 2 * 1024**3
# Far more than a result may have; the rest is only counted.
_KEEP_LIMIT_BYTES = 4 * 1024 * 1024
_CHUNK_BYTES = 1024 * 1024


class FileTooLarge(Exception):
    """The file is too large to be read."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.size = size


class BinaryFile(Exception):
    """The file is not text."""


class NotRegularFile(Exception):
    """The path is a pipe, a socket or a device."""


class Excerpt(Struct, frozen=True):
    """Some lines of a file."""

    lines: list[str]
    total: int
    """The number of lines of the file, including the empty one after the last newline."""
    size: int
    """The number of characters of the lines with line breaks, including lines that were not parts."""
    state: os.stat_result
    digest: str


def read_excerpt(path: Path, view: View, cancelled: threading.Event) -> Excerpt:
    """Return the lines of a view; never block on a pipe or a device."""
    with open_regular(path) as file:
        state = os.fstat(file.fileno())
        if state.st_size > (WHOLE_LIMIT_BYTES if view.limit is None else SCAN_LIMIT_BYTES):
            raise FileTooLarge(state.st_size)
        if is_binary(file.read(SAMPLE_BYTES)):
            raise BinaryFile
        file.seek(0)
        if view.limit is None:
            return _from_whole(file, view, state)
        return _from_scan(file, view, state, cancelled)


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file by its resolved path for reading; a directory raises IsADirectoryError."""
    # O_NONBLOCK: opening a named pipe without a writer would block.
    fd = real_path.open_file(str(path), os.O_RDONLY | os.O_NONBLOCK)
    try:
        mode = os.fstat(fd).st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise NotRegularFile
        return open(fd, "rb")
    except BaseException:
        os.close(fd)
        raise


def _from_whole(file: BinaryIO, view: View, state: os.stat_result) -> Excerpt:
    data = file.read(WHOLE_LIMIT_BYTES + 1)  # files of /proc have a size of 0
    if len(data) > WHOLE_LIMIT_BYTES:
        raise FileTooLarge(len(data))
    lines = _lines(data)
    wanted = lines[_first(view) :]
    return Excerpt(wanted, len(lines), sum(map(len, wanted)) + len(wanted), state, file_digest(data))


def _from_scan(file: BinaryIO, view: View, state: os.stat_result, cancelled: threading.Event) -> Excerpt:
    from hashlib import blake2b  # late: needed by the first read

    if file.read(2) in (b"\xff\xfe", b"\xfe\xff"):
        return _from_wide(file, view, state)
    file.seek(0)
    digest = blake2b(digest_size=16)
    first, last = _first(view), _first(view) + (view.limit or 0)
    parts: list[bytes] = []
    seen = size = kept_bytes = 0
    while chunk := file.read(_CHUNK_BYTES):
        if cancelled.is_set():
            raise Cancelled
        digest.update(chunk)
        ends = chunk.count(b"\n")
        if seen < last and seen + ends >= first:
            part = chunk[_after(chunk, first - seen) : _after(chunk, last - seen)]
            size += len(part)
            if kept_bytes < _KEEP_LIMIT_BYTES:
                parts.append(part)
                kept_bytes += len(part)
        seen += ends
    lines = _lines(b"".join(parts))[: last - first] if seen >= first else []
    return Excerpt(lines, seen + 1, size, state, digest.hexdigest())


def _from_wide(file: BinaryIO, view: View, state: os.stat_result) -> Excerpt:
    """Read lines of a UTF-16 file, whose line breaks are not single bytes."""
    if state.st_size > _KEEP_LIMIT_BYTES:
        raise FileTooLarge(state.st_size)
    file.seek(0)
    data = file.read(_KEEP_LIMIT_BYTES)
    lines = _lines(data)
    wanted = lines[_first(view) :][: view.limit]
    return Excerpt(wanted, len(lines), sum(map(len, wanted)) + len(wanted), state, file_digest(data))


def _first(view: View) -> int:
    """Return the index of the first line; offsets 0 and 1 both mean the first."""
    return max((view.offset or 0) - 1, 0)


def _after(chunk: bytes, count: int) -> int:
    """Return the position after `count` line breaks, or the end of the chunk."""
    position = 0
    for _ in range(count):
        position = chunk.find(b"\n", position) + 1
        if position == 0:
            return len(chunk)
    return position


def _lines(data: bytes) -> list[str]:
    text = replace_broken_bytes(decode(data).raw).removeprefix("\ufeff")
    return [line.removesuffix("\r") for line in text.split("\n")]

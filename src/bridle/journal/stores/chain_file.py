"""Reads and extends `bridle.chain`; see `format.chain`.

A line is written right after its entry, without a sync of its own: what a crash loses is computed again from the
entries, and marked. A run without the file was made by an earlier version or another program, and never gets one.
"""

from __future__ import annotations

import os

from bridle.errors import DiskError, JournalBroken
from bridle.ground import disk
from bridle.ground.light.quick_path import Path
from bridle.journal.format import folder_names, layout
from bridle.journal.format.chain import Chain, Link, next_head, parse_link, repair_line
from bridle.journal.format.digest import sha256
from bridle.journal.format.state import file_name
from bridle.journal.stores.file_reader import ENTRY_LIMIT_BYTES

# A line is shorter than this.
_LINE_LIMIT_BYTES = 256
# About ten million entries.
_FILE_LIMIT_BYTES = 1024 * 1024 * 1024

Name = tuple[int, str]

# The last chain that `head_at` has read, with its complete lines: a driver asks for each commit of a run.
_last_read: dict[str, tuple[bytes, Chain]] = {}


def read_chain(run: Path) -> Chain | None:
    """Return the chain of a run; None if it has none."""
    text = _read(run)
    return None if text is None else Chain(text)


def _read(run: Path) -> bytes | None:
    path = run / layout.CHAIN_FILE
    return disk.read_bounded(path, _FILE_LIMIT_BYTES) if os.path.lexists(path) else None


def _read_again(run: Path) -> Chain | None:
    """Return the chain of a run; lines that were read before, and are the same bytes, are not parsed again."""
    text = _read(run)
    known = _last_read.pop(str(run), None)
    _last_read.clear()
    if text is None:
        return None
    if known is not None and text.startswith(known[0]):
        chain = known[1]
        chain.extend(text[len(known[0]) :])
    else:
        chain = Chain(text)
    _last_read[str(run)] = text[: chain.complete_bytes], chain
    return chain


def head_at(run: Path, seq: int) -> str | None:
    """Return the digest of the chain at an entry; None if the run has no chain."""
    chain = _read_again(run)
    if chain is None:
        return None
    link = chain.link_of(seq)
    if link is None:
        names = folder_names.list_names(run / layout.JOURNAL)[:seq]
        link = _missing_links(run, chain, names)[-1]
    return link.head


def newest_head(run: Path) -> tuple[int, str] | None:
    """Return the number of the newest entry and the digest of the chain at it; None if the run has no chain."""
    names = folder_names.list_names(run / layout.JOURNAL)
    head = head_at(run, len(names)) if names else None
    return None if head is None else (len(names), head)


def note_repair(run: Path, kept: int) -> None:
    """Record that a repair has left the first entries as they were."""
    chain = read_chain(run)
    if chain is not None:
        fd = _open(run)
        try:
            os.ftruncate(fd, chain.complete_bytes)
            disk.write_all(fd, repair_line(min(kept, len(chain.links))))
            disk.sync(fd)
        finally:
            os.close(fd)


class ChainWriter:
    """Extends the chain of a run. Only for the holder of the run's lock."""

    __slots__ = ("_last", "_run")

    def __init__(self, run: Path) -> None:
        self._run = run
        self._last: Link | None = None
        """The last link that this writer has added."""

    def add(self, name: Name, before: Name, text: bytes) -> None:
        """Add the link of a new entry; `before` is the entry before it.

        A failure is not an error: the next writer adds the link.
        """
        last, self._last = self._last, None
        try:
            fd = _open(self._run)
        except OSError:
            return
        try:
            last = last or _last_link(fd)
            is_newest = last is not None and (last.seq, last.ulid) == before
            head = last.head if last is not None and is_newest else self._completed_head(fd, before)
            link = Link(*name, next_head(head, *name, sha256(text)))
            disk.write_all(fd, link.line)
            self._last = link
        except (OSError, DiskError, JournalBroken):
            pass
        finally:
            os.close(fd)

    def _completed_head(self, fd: int, newest: Name) -> str:
        """Add links that are missing, up to the newest entry; return the digest at it."""
        chain = read_chain(self._run) or Chain(b"")
        os.ftruncate(fd, chain.complete_bytes)
        names = folder_names.list_names(self._run / layout.JOURNAL)[: newest[0]]
        links = _missing_links(self._run, chain, names)
        disk.write_all(fd, b"".join(link.line for link in links))
        return links[-1].head if links else chain.head_before(len(names) + 1)


def _open(run: Path) -> int:
    return os.open(run / layout.CHAIN_FILE, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW)


def _last_link(fd: int) -> Link | None:
    """Return the link in the last line, if that is complete."""
    size = os.fstat(fd).st_size
    tail = os.pread(fd, _LINE_LIMIT_BYTES, max(0, size - _LINE_LIMIT_BYTES))
    return parse_link(tail[:-1].rpartition(b"\n")[2]) if tail.endswith(b"\n") else None


def _missing_links(run: Path, chain: Chain, names: list[Name]) -> list[Link]:
    """Return links for the entries after the last one that the chain has, computed from their files."""
    known = min(len(chain.links), len(names))
    while known and chain.links[known - 1].ulid != names[known - 1][1]:
        known -= 1
    head, links = chain.head_before(known + 1), []
    for seq, ulid in names[known:]:
        text = disk.read_bounded(run / layout.JOURNAL / file_name(seq, ulid), ENTRY_LIMIT_BYTES)
        head = next_head(head, seq, ulid, sha256(text))
        links.append(Link(seq, ulid, head, is_later=True))
    return links

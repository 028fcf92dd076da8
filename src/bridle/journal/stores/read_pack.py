"""Read the pack: its end, for the summary of a run, or all of it.

A faulty pack is not an error: the journal is read instead.
"""

from __future__ import annotations

import os
from zlib import crc32

from bridle.errors import JournalBroken
from bridle.ground import disk
from bridle.ground.light.abc_names import Callable, Iterator
from bridle.ground.light.quick_path import Path
from bridle.journal.format import codec
from bridle.journal.format.entries import EFFECT_REQUESTED, EFFECT_RESOLVED, Effect, Entry
from bridle.journal.format.folder_names import Name
from bridle.journal.format.state import Position, State
from bridle.journal.stores import write_pack
from bridle.journal.stores.write_pack import End, Seal

Load = Callable[[int, str], Entry]
"""Reads an entry's own file."""

# The first checkpoint, which is empty, and most first entries are shorter than this.
FIRST_ENTRY_BYTES = 4 * 1024

# The separator of an entry's fields and data; it does not occur in JSON on one line.
_TAB = b"\t"
_NEWLINE = ord("\n")
# The tags of lines with an entry.
_ENTRIES = frozenset("qrel")

# The errors that reading garbage may raise.
_GARBAGE = (OSError, codec.BadText, JournalBroken, ValueError, TypeError, KeyError, IndexError, AttributeError)


class Tail:
    """The summary of a run, from the end of the pack."""

    __slots__ = ("end", "position", "seal")

    def __init__(self, position: Position, seal: Seal, end: End) -> None:
        self.position = position
        self.seal = seal
        self.end = end


class Packed:
    """The content of the pack, up to the first incomplete line."""

    __slots__ = ("digests", "end", "entries", "seal", "stamps", "state", "values")

    def __init__(self) -> None:
        self.state = State()
        self.entries: list[Entry] = []
        self.values: dict[str, object] = {}
        self.digests: dict[str, str] = {}
        self.stamps: dict[str, write_pack.Stamp] = {}
        """Of results that were verified, by effect id."""
        self.seal: Seal | None = None
        """The last line, if it is a seal."""
        self.end: End | None = None
        """The offset where the complete lines end; None if the pack must be rewritten."""


def read_tail(path: Path, load: Load) -> Tail | None:
    """Return the summary of the run; None if the end of the pack is invalid."""
    try:
        fd = disk.open_regular(path, follow_links=False)
    except OSError:
        return None
    try:
        return _read_tail(fd, load)
    except _GARBAGE:
        return None  # garbage: the journal is read instead
    finally:
        os.close(fd)


def read_all(path: Path, load: Load) -> Packed:
    """Return the valid content of the pack; empty if it is missing or garbage."""
    packed = Packed()
    try:
        with open(disk.open_regular(path), "rb") as file:
            text = file.read()
        _read_lines(text, packed, load)
    except _GARBAGE:
        return Packed()
    return packed


def read_first(path: Path, load: Load) -> Entry | None:
    """Return the journal's first entry from the beginning of the pack; None if that is missing or garbage."""
    try:
        fd = disk.open_regular(path, follow_links=False)
    except OSError:
        return None
    try:
        text = os.pread(fd, FIRST_ENTRY_BYTES, 0)
        if text.count(b"\n") < 2:
            text = os.pread(fd, FIRST_ENTRY_BYTES + write_pack.LINE_LIMIT_BYTES, 0)
        packed, parts = Packed(), [part.partition(_TAB) for part in _whole_texts(text)[:2]]
        for record, part in zip([codec.parse(part[0]) for part in parts], parts, strict=True):
            if isinstance(record, list):
                _take(record, part[2], packed, load)
        return packed.entries[0] if packed.entries else None
    except _GARBAGE:
        return None
    finally:
        os.close(fd)


def read_names(path: Path) -> dict[Name, Entry | None]:
    """Return the entries in the pack by number and id, in order, None for those that are too large for it.

    Unlike `read_all`, it needs no file of the journal. Empty if the pack is missing or garbage.
    """
    try:
        with open(disk.open_regular(path), "rb") as file:
            first, *parts = [text.partition(_TAB) for text in _whole_texts(file.read())]
        if write_pack.parse_checkpoint(codec.parse(first[0])).seq != 0:
            return {}
        return dict(_named_entries([(codec.parse(fields), data) for fields, _, data in parts]))
    except _GARBAGE:
        return {}


def read_stamps(path: Path) -> dict[str, write_pack.Stamp | None] | None:
    """Return the stamp of each result, None if it was not verified yet; parse no entry.

    None without a complete pack that has every entry.
    """
    try:
        with open(disk.open_regular(path), "rb") as file:
            text = file.read()
        if _seal_of(text) is None or any(_places(text, b"l")):
            return None
        # The effect id is the fourth string of the line, after the tag, the entry's id and its time.
        ids = [text[start : text.index(b"\n", start)].split(b'"', 8)[7].decode() for start in _places(text, b"r")]
        stamps: dict[str, write_pack.Stamp | None] = dict.fromkeys(ids)
        for start in _places(text, b"v"):
            record = codec.parse(text[start : text.index(b"\n", start)])
            stamps.update(record[1])  # type: ignore[index]  # its checksum is valid
    except _GARBAGE:
        return None
    return stamps


def _places(text: bytes, tag: bytes) -> Iterator[int]:
    """Yield where the lines with this tag begin, after their checksums; splitting the pack takes far longer."""
    begin = b'["' + tag + b'",'
    start = text.find(begin)
    while start != -1:
        if start == write_pack.PREFIX_BYTES or text[start - write_pack.PREFIX_BYTES - 1] == _NEWLINE:
            yield start
        start = text.find(begin, start + 1)


def _named_entries(lines: list[tuple[object, bytes]]) -> Iterator[tuple[Name, Entry | None]]:
    for record, data in lines:
        match record:
            case ["q", int(seq), str(ulid), str(at), *_]:
                yield (seq, ulid), Entry(seq, ulid, EFFECT_REQUESTED, at, data)
            case ["r", int(seq), str(ulid), str(at), *_]:
                yield (seq, ulid), Entry(seq, ulid, EFFECT_RESOLVED, at, data)
            case ["e", int(seq), str(ulid), str(at), str(entry_type)]:
                yield (seq, ulid), Entry(seq, ulid, entry_type, at, data)
            case ["l", int(seq), str(ulid)]:
                yield (seq, ulid), None


def read_more(path: Path, packed: Packed, known: End, load: Load, applied: list[Entry]) -> bool:
    """Read what was appended to the pack since then; return False if it is another pack, or incomplete.

    Its seal contains the checksum of everything before it, so that earlier lines need not be read again. `applied` are
    the next entries if the state has them already; those that the pack has now are removed from the list.
    """
    try:
        fd = disk.open_regular(path, follow_links=False)
    except OSError:
        return False
    try:
        more = os.pread(fd, os.fstat(fd).st_size - known.size, known.size)
        return _read_more(more, packed, known, load, applied)
    except _GARBAGE:
        return False
    finally:
        os.close(fd)


def size(path: Path) -> int | None:
    """Return the size of the pack; None if it is missing."""
    try:
        return os.stat(path, follow_symlinks=False).st_size
    except OSError:
        return None


def was_changed(text: bytes) -> bool:
    """Return whether the content cannot be that of a writer, even of one that was killed while it appended."""
    *lines, _torn = text.split(b"\n")
    if not lines or any(line[: write_pack.PREFIX_BYTES] != write_pack.prefix_of(line) for line in lines):
        return True
    try:
        seal = write_pack.seal_of(codec.parse(write_pack.text_of(lines[-1])))
    except codec.BadText:
        return False  # the writer was killed before it wrote the seal
    return seal.crc != crc32(text[: sum(len(line) + 1 for line in lines[:-1])])


def _read_more(more: bytes, packed: Packed, known: End, load: Load, applied: list[Entry]) -> bool:
    head, _, last = more[:-1].rpartition(b"\n")
    seal = write_pack.seal_of(codec.parse(write_pack.text_of(last)))
    body = more[: len(more) - len(last) - 1]
    crc = crc32(body, known.crc)
    if not more.endswith(b"\n") or crc != seal.crc:
        return False
    parts = [line[write_pack.PREFIX_BYTES :].partition(_TAB) for line in head.split(b"\n")] if head else []
    records = [codec.parse(part[0]) for part in parts]
    for record, part in zip(records, parts, strict=True):
        if isinstance(record, list):
            if applied and record[0] in _ENTRIES:
                _confirm(record, applied.pop(0), packed)
            else:
                _take(record, part[2], packed, load)
    checkpoint_bytes = known.checkpoint_bytes
    if seal.checkpoint != known.checkpoint:
        begin = seal.checkpoint - known.size
        checkpoint_bytes = more.index(b"\n", begin) + 1 - begin
    packed.seal = seal
    packed.end = End(
        size=known.size + len(more),
        crc=crc32(last + b"\n", crc),
        checkpoint=seal.checkpoint,
        checkpoint_bytes=checkpoint_bytes,
    )
    return True


def _read_tail(fd: int, load: Load) -> Tail:
    size = os.fstat(fd).st_size
    end = os.pread(fd, write_pack.SEAL_LIMIT_BYTES, max(0, size - write_pack.SEAL_LIMIT_BYTES))
    if not end.endswith(b"\n"):
        raise codec.BadText("the last line is torn")
    seal = write_pack.seal_of(codec.parse(write_pack.text_of(end[:-1].rpartition(b"\n")[2])))
    behind = os.pread(fd, size - seal.checkpoint, seal.checkpoint)
    lines = behind.split(b"\n")
    position = write_pack.parse_checkpoint(codec.parse(write_pack.text_of(lines[0])))
    for line in lines[1:-1]:
        text, _, data = write_pack.text_of(line).partition(_TAB)
        _apply_line(position, codec.parse(text), data, load)
    if position.seq != seal.seq:
        raise codec.BadText("the seal is of another place")
    crc = crc32(lines[-2] + b"\n", seal.crc)
    place = End(size=size, crc=crc, checkpoint=seal.checkpoint, checkpoint_bytes=len(lines[0]) + 1)
    return Tail(position, seal, place)


def _apply_line(position: Position, record: object, data: bytes, load: Load) -> None:
    match record:
        case ["q", int(seq), str(ulid), str(at), str(effect_id), _, _, _, str(kind), _]:
            position.request(Entry(seq, ulid, EFFECT_REQUESTED, at, data), effect_id, kind)
        case ["r", int(seq), str(ulid), str(at), str(effect_id), *_]:
            position.resolve(Entry(seq, ulid, EFFECT_RESOLVED, at, data), effect_id)
        case ["e", int(seq), str(ulid), str(at), str(entry_type)]:
            position.note(Entry(seq, ulid, entry_type, at, data))
        case ["l", int(seq), str(ulid)]:
            position.apply(load(seq, ulid))


def _read_lines(text: bytes, packed: Packed, load: Load) -> None:
    parts = [body.partition(_TAB) for body in _sealed_texts(text, packed) or _whole_texts(text)]
    # One call for all lines, which takes half the time of parsing them one by one.
    records = codec.parse(b"[" + b",".join([part[0] for part in parts]) + b"]")
    if not isinstance(records, list) or not records or write_pack.parse_checkpoint(records[0]).seq != 0:
        raise codec.BadText("it does not begin at the beginning")
    for record, part in zip(records, parts, strict=True):
        _take(record, part[2], packed, load)


def _take(record: list, data: bytes, packed: Packed, load: Load) -> None:  # type: ignore[type-arg]  # any JSON
    """Apply one line; its checksum is valid, so its fields are too."""
    tag, state = record[0], packed.state
    if tag == "q":
        entry = Entry(record[1], record[2], EFFECT_REQUESTED, record[3], data)
        state.request(Effect(entry, record[4], record[5], record[6], record[7], record[8]))
        if record[9] is not None:
            packed.digests[record[4]] = record[9]
    elif tag == "r":
        entry = Entry(record[1], record[2], EFFECT_RESOLVED, record[3], data)
        state.resolve(entry, record[4], record[5])
        if len(record) == 7:
            packed.values[record[4]] = record[6]
    elif tag == "e":
        entry = Entry(record[1], record[2], record[4], record[3], data)
        state.note(entry)
    elif tag == "l":
        entry = load(record[1], record[2])
        state.apply(entry)
    else:
        if tag == "x":
            packed.values[record[1]] = record[2]
        elif tag == "d":
            packed.digests[record[1]] = record[2]
        elif tag == "v":
            packed.stamps.update(record[1])
        return
    packed.entries.append(entry)


def _confirm(record: list, entry: Entry, packed: Packed) -> None:  # type: ignore[type-arg]  # any JSON
    """Take the line of an entry that the state has already, with the value or the digest that only the line has."""
    if (record[1], record[2]) != (entry.seq, entry.ulid):
        raise codec.BadText("it is of another journal")
    if record[0] == "q" and record[9] is not None:
        packed.digests[record[4]] = record[9]
    elif record[0] == "r" and len(record) == 7:
        packed.values[record[4]] = record[6]
    packed.entries.append(entry)


def _sealed_texts(text: bytes, packed: Packed) -> list[bytes] | None:
    """Return all lines if the last one is a seal with their checksum, else None."""
    seal = _seal_of(text)
    if seal is None:
        return None
    checkpoint_bytes = text.index(b"\n", seal.checkpoint) + 1 - seal.checkpoint
    crc = crc32(text[text.rindex(b"\n", 0, -1) + 1 :], seal.crc)
    packed.seal = seal
    packed.end = End(size=len(text), crc=crc, checkpoint=seal.checkpoint, checkpoint_bytes=checkpoint_bytes)
    return [line[write_pack.PREFIX_BYTES :] for line in text[:-1].split(b"\n")]


def _seal_of(text: bytes) -> Seal | None:
    """Return the seal if the last line is one with the checksum of all lines before it."""
    start = text.rfind(b"\n", 0, -1) + 1
    try:
        seal = write_pack.seal_of(codec.parse(write_pack.text_of(text[start:-1])))
    except (codec.BadText, ValueError):
        return None
    return seal if text.endswith(b"\n") and crc32(memoryview(text)[:start]) == seal.crc else None


def _whole_texts(text: bytes) -> list[bytes]:
    """Return the lines up to the first incomplete one."""
    texts: list[bytes] = []
    for line in text.split(b"\n")[:-1]:
        if line[: write_pack.PREFIX_BYTES] != write_pack.prefix_of(line):
            break
        texts.append(line[write_pack.PREFIX_BYTES :])
    return texts

"""The pack: a run's journal in one file, so that a long run costs what a short one does. A cache, never the truth.

It is a log of lines, each with a checksum of its own:

    ["c", version, seq, ulid, end, stops, {effectId: [kind, seq, ulid]}]   a checkpoint: the standing at this place
    ["e", seq, ulid, type, recordedAt, data, extra?]                       an entry; with it, where small, the value
                                                                           of its result or the digest of its inputs
    ["l", seq, ulid]                                                       an entry too large to stand here
    ["x", effectId, value] ["d", effectId, digest]                         a value, a digest, learned later
    ["s", seq, namesCrc, inode, time, checkpoint]                          a seal: the folder as the pack knows it,
                                                                           and where the last checkpoint begins

The last line is a seal, so its end tells a reader where to begin: where a run stands is in the lines since the last
checkpoint, however long the file is. Lines are only ever appended. A line that was torn, lost or overwritten does not
match its checksum: what stands before it is used, what comes after is read from the journal again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from zlib import crc32

from bridle.errors import JournalBroken
from bridle.journal import codec
from bridle.journal.entries import EFFECT_REQUESTED, EFFECT_RESOLVED, Entry
from bridle.journal.names import Mark
from bridle.journal.state import Pending, Standing

VERSION = 1

# Longer lines would make the end of the file slow to read; such an entry is read from its own file.
LINE_LIMIT_BYTES = 64 * 1024
# A result up to this long stands beside its entry. It is parsed in any case; this saves opening its file.
VALUE_LIMIT_BYTES = 16 * 1024
# Reading this much costs less than a millisecond. A checkpoint comes when more than this, and more than the last
# checkpoint itself, stands behind it: so checkpoints are at most half of the file.
CHECKPOINT_AFTER_BYTES = 32 * 1024
# A seal is shorter than this.
SEAL_LIMIT_BYTES = 256

Load = Callable[[int, str], Entry]
"""Reads an entry's own file."""


class Seal:
    """What the pack says of the journal's folder, at the end of a writer's turn."""

    __slots__ = ("checkpoint", "mark", "names_crc", "seq")

    def __init__(self, seq: int, names_crc: int, mark: Mark | None, checkpoint: int) -> None:
        self.seq = seq
        self.names_crc = names_crc
        self.mark = mark
        self.checkpoint = checkpoint


class Tail:
    """Where the run stands, from the end of the pack."""

    __slots__ = ("checkpoint_bytes", "seal", "size", "standing")

    def __init__(self, standing: Standing, seal: Seal, size: int, checkpoint_bytes: int) -> None:
        self.standing = standing
        self.seal = seal
        self.size = size
        self.checkpoint_bytes = checkpoint_bytes


class Packed:
    """Everything that the pack holds, up to the first line that is not whole."""

    __slots__ = ("checkpoint", "checkpoint_bytes", "digests", "entries", "seal", "size", "values")

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.values: dict[str, object] = {}
        self.digests: dict[str, str] = {}
        self.seal: Seal | None = None
        """The last line, when that is a seal."""
        self.size = 0
        """How many bytes of the file are whole lines."""
        self.checkpoint = 0
        self.checkpoint_bytes = 0


def read_tail(path: Path, load: Load) -> Tail | None:
    """Where the run stands; None where the end of the pack cannot be used."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        return _read_tail(fd, load)
    except (OSError, codec.BadText, JournalBroken, ValueError, TypeError, KeyError, IndexError, AttributeError):
        return None  # garbage of whatever kind: the journal is read instead
    finally:
        os.close(fd)


def read_all(path: Path, load: Load) -> Packed:
    """Everything in the pack that is whole; nothing where it is missing or garbage."""
    packed = Packed()
    try:
        with open(path, "rb") as file:
            text = file.read()
        _read_lines(text, packed, load)
    except (OSError, codec.BadText, JournalBroken, ValueError, TypeError, KeyError, IndexError, AttributeError):
        return Packed()
    return packed


def entry_line(entry: Entry, *, value: object = None, has_value: bool = False, digest: str | None = None) -> bytes:
    """The line of an entry, with the value of its result or the digest of its inputs where they are known."""
    fields: list[object] = ["e", entry.seq, entry.ulid, entry.type, entry.recorded_at, entry.data]
    if digest is not None:
        fields.append(digest)
    if has_value:
        text = codec.compact(value)
        if len(text) <= VALUE_LIMIT_BYTES:
            fields.append(value)
    line = _line(fields)
    return line if len(line) <= LINE_LIMIT_BYTES else _line(["l", entry.seq, entry.ulid])


def value_line(effect_id: str, value: object) -> bytes:
    """A line for a value that was read from its own file; empty where it is too large to stand here."""
    line = _line(["x", effect_id, value])
    return line if len(line) <= VALUE_LIMIT_BYTES else b""


def digest_line(effect_id: str, digest: str) -> bytes:
    """A line for a digest that was made from its own file."""
    return _line(["d", effect_id, digest])


def checkpoint_line(standing: Standing) -> bytes:
    """The line from which a reader can begin."""
    pending = {effect_id: [item.kind, item.seq, item.ulid] for effect_id, item in standing.pending.items()}
    return _line(["c", VERSION, standing.seq, standing.ulid, standing.end, standing.stops, pending])


def seal_line(seal: Seal) -> bytes:
    """The last line of a writer's turn."""
    inode, moment = seal.mark or (0, 0)
    return _line(["s", seal.seq, seal.names_crc, inode, moment, seal.checkpoint])


def _line(fields: list[object]) -> bytes:
    text = codec.compact(fields).encode()
    return b"%08x %s\n" % (crc32(text), text)


def _text_of(line: bytes) -> bytes:
    text = line[9:]
    if line[8:9] != b" " or int(line[:8], 16) != crc32(text):
        raise codec.BadText("the line does not match its checksum")
    return text


def _read_tail(fd: int, load: Load) -> Tail:
    size = os.fstat(fd).st_size
    end = os.pread(fd, SEAL_LIMIT_BYTES, max(0, size - SEAL_LIMIT_BYTES))
    if not end.endswith(b"\n"):
        raise codec.BadText("the last line is torn")
    seal = _seal(codec.parse(_text_of(end[:-1].rpartition(b"\n")[2])))
    lines = os.pread(fd, size - seal.checkpoint, seal.checkpoint).split(b"\n")
    standing = _standing(codec.parse(_text_of(lines[0])))
    for line in lines[1:-1]:
        fields = codec.parse(_text_of(line))
        if isinstance(fields, list) and fields[0] in ("e", "l"):
            standing.apply(_entry(fields, load))
    if standing.seq != seal.seq:
        raise codec.BadText("the seal is of another place")
    return Tail(standing, seal, size, len(lines[0]) + 1)


def _read_lines(text: bytes, packed: Packed, load: Load) -> None:
    texts, size = _whole_lines(text)
    # One call for all lines: parsing them one by one takes twice as long.
    records = codec.parse(b"[" + b",".join(texts) + b"]")
    if not isinstance(records, list) or not records or _standing(records[0]).seq != 0:
        raise codec.BadText("it does not begin at the beginning")
    position = 0
    for record, line in zip(records, texts, strict=True):
        tag = record[0]
        if tag == "e" or tag == "l":
            _take_entry(record, packed, load)
        elif tag == "x":
            packed.values[record[1]] = record[2]
        elif tag == "d":
            packed.digests[record[1]] = record[2]
        elif tag == "c":
            packed.checkpoint, packed.checkpoint_bytes = position, len(line) + 10
        packed.seal = _seal(record) if tag == "s" else None
        position += len(line) + 10  # eight digits, a space and the line end
    packed.size = size


def _whole_lines(text: bytes) -> tuple[list[bytes], int]:
    """The texts of the lines up to the first that is torn, and how many bytes they take."""
    texts: list[bytes] = []
    size = 0
    for line in text.split(b"\n")[:-1]:
        body = line[9:]
        if line[:9] != b"%08x " % crc32(body):
            break
        texts.append(body)
        size += len(line) + 1
    return texts, size


def _take_entry(record: list[object], packed: Packed, load: Load) -> None:
    entry = _entry(record, load)
    if entry.seq != len(packed.entries) + 1:
        raise codec.BadText("an entry is missing")
    packed.entries.append(entry)
    if len(record) == 7:
        effect_id = entry.data["effectId"]
        if not isinstance(effect_id, str):
            raise codec.BadText("an effect has no id")
        if entry.type == EFFECT_RESOLVED:
            packed.values[effect_id] = record[6]
        elif entry.type == EFFECT_REQUESTED and isinstance(record[6], str):
            packed.digests[effect_id] = record[6]


def _entry(record: list[object], load: Load) -> Entry:
    seq, ulid = record[1], record[2]
    if not isinstance(seq, int) or not isinstance(ulid, str):
        raise codec.BadText("an entry has no place")
    if record[0] == "l":
        return load(seq, ulid)
    entry_type, recorded_at, data = record[3:6]
    if not isinstance(entry_type, str) or not isinstance(recorded_at, str) or not isinstance(data, dict):
        raise codec.BadText("an entry lacks its fields")
    return Entry(seq, ulid, entry_type, recorded_at, data)


def _standing(record: object) -> Standing:
    match record:
        case ["c", 1, int(seq), str(ulid), None | str() as end, int(stops), dict(pending)]:
            standing = Standing()
            standing.seq, standing.ulid, standing.end, standing.stops = seq, ulid, end, stops
            standing.pending = dict(_pending(pending))
            return standing
        case _:
            raise codec.BadText("it is not a checkpoint of this version")


def _pending(record: dict[str, object]) -> Iterator[tuple[str, Pending]]:
    for effect_id, fields in record.items():
        match fields:
            case [str(kind), int(seq), str(ulid)]:
                yield effect_id, Pending(kind, seq, ulid)
            case _:
                raise codec.BadText("a checkpoint has a pending effect without a place")


def _seal(record: object) -> Seal:
    match record:
        case ["s", int(seq), int(crc), int(inode), int(moment), int(checkpoint)]:
            return Seal(seq, crc, (inode, moment) if moment else None, checkpoint)
        case _:
            raise codec.BadText("the last line is not a seal")

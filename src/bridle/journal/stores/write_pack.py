"""The pack: a cache of a run's journal in one file, so that a long run costs as much as a short one.

It is a log of lines, each with a checksum of its own:

    ["c", version, seq, ulid, end, stops, {effectId: [kind, seq, ulid]}]   a checkpoint: the summary at this point
    ["q", seq, ulid, at, effectId, key, stepId, taskId, kind, digest]      an entry that requests an effect, with the
                                                                           digest of its inputs or null
    ["r", seq, ulid, at, effectId, status, value?]                         one that resolves it, with a small value
    ["e", seq, ulid, at, type]                                             any other entry
    ["l", seq, ulid]                                                       an entry that is too large
    ["x", effectId, value] ["d", effectId, digest]                         a value, a digest, read later
    ["v", {effectId: stamp}]                                               results that were verified: the stamps of
                                                                           their files at that time
    ["s", seq, namesCrc, inode, time, checkpoint, crc]                     a seal: the known state of the folder, the
                                                                           offset of the last checkpoint, and the
                                                                           checksum of everything before

After an entry's fields come a tab and its data, which a reader of the summary need not parse.

The last line is a seal with the offset of the last checkpoint, so a reader of the summary reads only the lines from
there, whatever the size of the file. Lines are only appended. A line that was cut, lost or overwritten does not match
its checksum: the lines before it are used, the rest is read from the journal. The journal is the source of truth.
"""

from __future__ import annotations

from zlib import crc32

from bridle.ground.light.abc_names import Iterator
from bridle.journal.format import codec
from bridle.journal.format.entries import EFFECT_REQUESTED, EFFECT_RESOLVED, Entry
from bridle.journal.format.folder_names import Mark
from bridle.journal.format.state import Pending, Position, requested_effect

VERSION = 2

# Longer lines would make the end of the file slow to read; such an entry is read from its file.
LINE_LIMIT_BYTES = 64 * 1024
# A result up to this long is stored with its entry, which saves opening its file.
VALUE_LIMIT_BYTES = 16 * 1024
# Reading this much takes a fraction of a millisecond. A checkpoint is written after more than this, and more than the
# size of the last checkpoint: so checkpoints are at most half of the file.
CHECKPOINT_AFTER_BYTES = 8 * 1024
# A seal is shorter than this.
SEAL_LIMIT_BYTES = 256

# The checksum of a line: eight digits and a space.
PREFIX_BYTES = 9


class Seal:
    """The state of the journal's folder when a writer released its lock."""

    __slots__ = ("checkpoint", "crc", "mark", "names_crc", "seq")

    def __init__(self, seq: int, names_crc: int, mark: Mark | None, checkpoint: int, crc: int) -> None:
        self.seq = seq
        self.names_crc = names_crc
        self.mark = mark
        self.checkpoint = checkpoint
        """The offset of the last checkpoint."""
        self.crc = crc
        """The checksum of everything before the seal."""


class End:
    """The end of a pack, for appending to it."""

    __slots__ = ("checkpoint", "checkpoint_bytes", "crc", "size")

    def __init__(self, *, size: int, crc: int, checkpoint: int, checkpoint_bytes: int) -> None:
        self.size = size
        self.crc = crc
        """The checksum of the whole file."""
        self.checkpoint = checkpoint
        self.checkpoint_bytes = checkpoint_bytes


def entry_line(entry: Entry, *, value: object = None, has_value: bool = False, digest: str | None = None) -> bytes:
    """Return the line of an entry, with the value of its result or the digest of its inputs if known."""
    place, data = [entry.seq, entry.ulid, entry.recorded_at], entry.data
    if entry.type == EFFECT_REQUESTED:
        effect = requested_effect(entry)
        fields = ["q", *place, effect.effect_id, effect.key, effect.step_id, effect.task_id, effect.kind, digest]
    elif entry.type == EFFECT_RESOLVED:
        fields = ["r", *place, data["effectId"], data["status"]]
        if has_value and len(codec.compact(value)) <= VALUE_LIMIT_BYTES:
            fields.append(value)
    else:
        fields = ["e", *place, entry.type]
    line = _line(fields, codec.compact(data))
    return line if len(line) <= LINE_LIMIT_BYTES else _line(["l", entry.seq, entry.ulid])


def value_line(effect_id: str, value: object) -> bytes:
    """Return a line for a value that was read from its file; empty if it is too large."""
    line = _line(["x", effect_id, value])
    return line if len(line) <= VALUE_LIMIT_BYTES else b""


def digest_line(effect_id: str, digest: str) -> bytes:
    """Return a line for a digest that was computed from a file."""
    return _line(["d", effect_id, digest])


def checkpoint_line(position: Position) -> bytes:
    """Return a checkpoint, the line from which a reader can start."""
    pending = {effect_id: [item.kind, item.seq, item.ulid] for effect_id, item in position.pending.items()}
    return _line(["c", VERSION, position.seq, position.ulid, position.end, position.stops, pending])


def seal_line(seal: Seal) -> bytes:
    """Return the last line of a write."""
    inode, moment = seal.mark or (0, 0)
    return _line(["s", seal.seq, seal.names_crc, inode, moment, seal.checkpoint, seal.crc])


def text_of(line: bytes) -> bytes:
    """Parse a line; raise BadText if its checksum does not match."""
    if line[:PREFIX_BYTES] != prefix_of(line):
        raise codec.BadText("the line does not match its checksum")
    return line[PREFIX_BYTES:]


def prefix_of(line: bytes) -> bytes:
    """Return the checksum that a line must begin with."""
    return b"%08x " % crc32(line[PREFIX_BYTES:])


def parse_checkpoint(record: object) -> Position:
    match record:
        case ["c", 2, int(seq), str(ulid), None | str() as end, int(stops), dict(pending)]:
            position = Position()
            position.seq, position.ulid, position.end, position.stops = seq, ulid, end, stops
            position.pending = dict(_pending(pending))
            return position
        case _:
            raise codec.BadText("it is not a checkpoint of this version")


def _pending(record: dict[str, object]) -> Iterator[tuple[str, Pending]]:
    for effect_id, fields in record.items():
        match fields:
            case [str(kind), int(seq), str(ulid)]:
                yield effect_id, Pending(kind, seq, ulid)
            case _:
                raise codec.BadText("a checkpoint has a pending effect without a place")


def seal_of(record: object) -> Seal:
    match record:
        case ["s", int(seq), int(names_crc), int(inode), int(moment), int(checkpoint), int(crc)]:
            return Seal(seq, names_crc, (inode, moment) if moment else None, checkpoint, crc)
        case _:
            raise codec.BadText("the last line is not a seal")


def _line(fields: list[object], data: str | None = None) -> bytes:
    text = codec.compact(fields) if data is None else f"{codec.compact(fields)}\t{data}"
    return _signed(text.encode())


def _signed(text: bytes) -> bytes:
    return b"%08x %s\n" % (crc32(text), text)


Stamp = list[int]
"""The inode, the size and the change time of a file in nanoseconds: another content has another stamp."""


class SideValues:
    """Values of results and digests of inputs that were read from separate files, and stamps of verified results."""

    __slots__ = ("digests", "stamps", "values")

    def __init__(
        self,
        values: dict[str, object] | None = None,
        digests: dict[str, str] | None = None,
        stamps: dict[str, Stamp] | None = None,
    ) -> None:
        self.values = values or {}
        self.digests = digests or {}
        self.stamps = stamps or {}

    @property
    def count(self) -> int:
        """Return how many values and digests there are, each of which needs a line."""
        return len(self.values) + len(self.digests)

    def line_of(self, entry: Entry) -> bytes:
        """Return the line of an entry with its value or digest, and forget these."""
        effect_id = str(entry.data["effectId"])
        if entry.type == EFFECT_REQUESTED:
            return entry_line(entry, digest=self.digests.pop(effect_id, None))
        has_value = effect_id in self.values
        return entry_line(entry, value=self.values.pop(effect_id, None), has_value=has_value)

    def lines(self) -> list[bytes]:
        """Return separate lines for the rest."""
        values = [value_line(effect_id, value) for effect_id, value in self.values.items()]
        digests = [digest_line(effect_id, digest) for effect_id, digest in self.digests.items()]
        return values + digests + ([_line(["v", self.stamps])] if self.stamps else [])

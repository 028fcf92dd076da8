"""The pack: a run's journal in one file, so that a long run costs what a short one does. A cache, never the truth.

It is a log of lines, each with a checksum of its own:

    ["c", version, seq, ulid, end, stops, {effectId: [kind, seq, ulid]}]   a checkpoint: the standing at this place
    ["q", seq, ulid, at, effectId, key, stepId, taskId, kind, digest]      an entry that asks for an effect, with the
                                                                           digest of its inputs or null
    ["r", seq, ulid, at, effectId, status, value?]                         one that resolves it, with the value where
                                                                           that is small
    ["e", seq, ulid, at, type]                                             any other entry
    ["l", seq, ulid]                                                       an entry too large to stand here
    ["x", effectId, value] ["d", effectId, digest]                         a value, a digest, learned later
    ["s", seq, namesCrc, inode, time, checkpoint, crc]                     a seal: the folder as the pack knows it,
                                                                           where the last checkpoint begins, and the
                                                                           checksum of all that stands before

Behind an entry's fields comes, after a tab, its whole data: nobody who only wants to know where things stand has to
parse it.

The last line is a seal, so its end tells a reader where to begin: where a run stands is in the lines since the last
checkpoint, however long the file is. Lines are only ever appended. A line that was torn, lost or overwritten does not
match its checksum: what stands before it is used, what comes after is read from the journal again.
"""

from __future__ import annotations

from zlib import crc32

from bridle.ground.light.abc_names import Iterator
from bridle.journal.format import codec
from bridle.journal.format.entries import EFFECT_REQUESTED, EFFECT_RESOLVED, Entry
from bridle.journal.format.folder_names import Mark
from bridle.journal.format.state import Pending, Position, requested_effect

VERSION = 2

# Longer lines would make the end of the file slow to read; such an entry is read from its own file.
LINE_LIMIT_BYTES = 64 * 1024
# A result up to this long stands beside its entry. It is parsed in any case; this saves opening its file.
VALUE_LIMIT_BYTES = 16 * 1024
# Reading this much costs a fraction of a millisecond. A checkpoint comes when more than this, and more than the last
# checkpoint itself, stands behind it: so checkpoints are at most half of the file.
CHECKPOINT_AFTER_BYTES = 8 * 1024
# A seal is shorter than this.
SEAL_LIMIT_BYTES = 256

# The checksum of a line: eight digits and a space.
PREFIX_BYTES = 9


class Seal:
    """What the pack says of the journal's folder, at the end of a writer's turn."""

    __slots__ = ("checkpoint", "crc", "mark", "names_crc", "seq")

    def __init__(self, seq: int, names_crc: int, mark: Mark | None, checkpoint: int, crc: int) -> None:
        self.seq = seq
        self.names_crc = names_crc
        self.mark = mark
        self.checkpoint = checkpoint
        """Where the last checkpoint begins."""
        self.crc = crc
        """The checksum of everything before the seal."""


class End:
    """Where a pack ends, for whoever lets it grow."""

    __slots__ = ("checkpoint", "checkpoint_bytes", "crc", "size")

    def __init__(self, *, size: int, crc: int, checkpoint: int, checkpoint_bytes: int) -> None:
        self.size = size
        self.crc = crc
        """The checksum of the whole file."""
        self.checkpoint = checkpoint
        self.checkpoint_bytes = checkpoint_bytes


def entry_line(entry: Entry, *, value: object = None, has_value: bool = False, digest: str | None = None) -> bytes:
    """The line of an entry, with the value of its result or the digest of its inputs where they are known."""
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
    """A line for a value that was read from its own file; empty where it is too large to stand here."""
    line = _line(["x", effect_id, value])
    return line if len(line) <= VALUE_LIMIT_BYTES else b""


def digest_line(effect_id: str, digest: str) -> bytes:
    """A line for a digest that was made from its own file."""
    return _line(["d", effect_id, digest])


def checkpoint_line(standing: Position) -> bytes:
    """The line from which a reader can begin."""
    pending = {effect_id: [item.kind, item.seq, item.ulid] for effect_id, item in standing.pending.items()}
    return _line(["c", VERSION, standing.seq, standing.ulid, standing.end, standing.stops, pending])


def seal_line(seal: Seal) -> bytes:
    """The last line of a writer's turn."""
    inode, moment = seal.mark or (0, 0)
    return _line(["s", seal.seq, seal.names_crc, inode, moment, seal.checkpoint, seal.crc])


def text_of(line: bytes) -> bytes:
    """What a line says; BadText where it does not match its checksum."""
    text = line[PREFIX_BYTES:]
    if line[:PREFIX_BYTES] != b"%08x " % crc32(text):
        raise codec.BadText("the line does not match its checksum")
    return text


def standing_of(record: object) -> Position:
    """The standing that a checkpoint holds."""
    match record:
        case ["c", 2, int(seq), str(ulid), None | str() as end, int(stops), dict(pending)]:
            standing = Position()
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


def seal_of(record: object) -> Seal:
    """The seal that a line holds."""
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

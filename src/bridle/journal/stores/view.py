"""A view of a journal in a folder: from the pack as far as it goes, then from the entries' files.

A view has the summary, and the full state on demand. It also has the entries that the pack lacks, so that the holder
of the run's lock can extend the pack.
"""

from __future__ import annotations

import gc
import os
from zlib import crc32

from bridle.errors import JournalBroken
from bridle.ground import disk
from bridle.ground.light.abc_names import Callable
from bridle.ground.light.quick_path import Path
from bridle.journal.format import codec, folder_names, layout
from bridle.journal.format.entries import EFFECT_REQUESTED, EFFECT_RESOLVED, Entry
from bridle.journal.format.state import Position, State, file_name
from bridle.journal.stores import read_pack, write_pack
from bridle.journal.stores.write_pack import SideValues


class Place:
    """The paths of a run, its journal and its pack, and the function that reads an entry's file."""

    __slots__ = ("journal", "load", "pack", "run")

    def __init__(self, run: Path, load: Callable[[int, str], Entry]) -> None:
        self.run = run
        self.journal = run / layout.JOURNAL
        self.pack = run / layout.STATE / layout.PACK_FILE
        self.load = load


class View:
    """A journal as of one listing, which can be updated."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._state: State | None = None
        self._position = Position()
        self._names_crc = 0
        self._mark: folder_names.Mark | None = None
        """The mark of the folder at the last listing."""
        self._is_our_mark = False
        """Whether a writer set that mark, so that any change of the folder changes it."""
        self._end: write_pack.End | None = None
        """The end of the pack; None if it must be rewritten."""
        self.packed = read_pack.Packed()
        """The pack's content, if all of it was read."""
        self.unpacked: list[Entry] = []
        """The entries that are not in the pack."""
        self._lines_of: dict[int, bytes] = {}
        """Lines with an entry's value or digest, by its number."""
        self._side_values = SideValues()

    @classmethod
    def of_position(cls, place: Place, *, trusts_mark: bool = True) -> View:
        """Read the summary: the end of the pack and the entries after it."""
        tail = read_pack.read_tail(place.pack, place.load)
        if tail is None:
            return cls.of_state(place)
        view = cls(place)
        view._position, view._names_crc, view._end = tail.position, tail.seal.names_crc, tail.end
        view._mark, view._is_our_mark = tail.seal.mark, tail.seal.mark is not None
        if (trusts_mark and view.is_current()) or view.catch_up():
            return view
        return cls.of_state(place)

    @classmethod
    def of_state(cls, place: Place) -> View:
        """Read the full state."""
        # A long run creates a hundred thousand objects here, none of them garbage; collecting would take a quarter of
        # the time.
        was_collecting = gc.isenabled()
        gc.disable()
        try:
            view = cls(place)
            if view._take_pack(read_pack.read_all(place.pack, place.load)) and (view.is_current() or view.catch_up()):
                return view
            return cls.of_files(place)
        finally:
            if was_collecting:
                gc.enable()

    @classmethod
    def of_files(cls, place: Place) -> View:
        """Read the full state from the entries' files only; raise if the pack has entries after the last of them."""
        packed = read_pack.read_names(place.pack)  # first: an entry is in the pack only after its file is durable
        view = cls(place)
        view._state = State()
        view.catch_up()
        view._check_newest_exists(list(packed))
        return view

    def refresh(self) -> bool:
        """Read only what is new since the last use; return False if that is not possible.

        Only for a view with the full state and a valid pack; after a failure the view is unusable.
        """
        if self._end is None or self._state is None:
            return False
        if not self.unpacked and self.is_current():
            return True
        if read_pack.size(self._place.pack) == self._end.size:  # a writer is between an entry and its line
            return self.catch_up()
        return self._read_more(self._end, self._state.position) and (self.is_current() or self.catch_up())

    def _read_more(self, known: write_pack.End, position: Position) -> bool:
        """Read what the pack has more; return False if it is another one, or lacks entries that the view has."""
        if not read_pack.read_more(self._place.pack, self.packed, known, self._place.load, self.unpacked):
            return False
        seal, self._end = self.packed.seal, self.packed.end
        if seal is None or seal.seq != position.seq:
            return False
        self._names_crc, self._mark, self._is_our_mark = seal.names_crc, seal.mark, seal.mark is not None
        return True

    @property
    def is_reusable(self) -> bool:
        """Return whether the view may be kept: it has the full state, and the pack is valid as far as it goes."""
        return self._state is self.packed.state and self._end is not None

    @property
    def position(self) -> Position:
        """Return the summary of the run's state."""
        return self._position if self._state is None else self._state.position

    @property
    def state(self) -> State:
        """Return the full state, read on first use."""
        if self._state is None:
            whole, known = View.of_state(self._place), self.position
            if (whole.position.seq, whole.position.ulid) != (known.seq, known.ulid):
                raise JournalBroken(
                    f"the journal {self._place.journal} changed during reading",
                    remedy="Another program writes to it without its lock. Run the command again.",
                )
            self._state, self.packed, self.unpacked, self._end = whole.state, whole.packed, whole.unpacked, whole._end
            if whole._mark != self._mark:
                self._mark, self._is_our_mark = whole._mark, whole._is_our_mark
        return self._state

    def is_current(self) -> bool:
        """Return whether the folder is unchanged since the last listing."""
        return self._mark is not None and self._mark == folder_names.mark_of(self._place.journal)

    def catch_up(self) -> bool:
        """Read new entries; return False if the known ones are not those of the folder."""
        # The mark is read before the names: the next reader then notices a change in between.
        self._mark, self._is_our_mark = folder_names.mark_of(self._place.journal), False
        new = folder_names.list_new_names(self._place.journal, self.position.seq, self._names_crc)
        for seq, ulid in new or ():
            self.take(self._place.load(seq, ulid))
        return new is not None

    def _check_newest_exists(self, packed: list[folder_names.Name]) -> None:
        """Raise if the pack of this journal has a next entry."""
        known, names = self.position.seq, [(entry.seq, entry.ulid) for entry in self.unpacked]
        if packed[:known] != names or len(packed) == known or packed[known][0] != known + 1:
            return  # complete, or the pack is not of this journal
        raise codec.missing_file(self._place.journal / file_name(*packed[known]))

    def take(self, entry: Entry) -> None:
        try:
            if self._state is not None:
                self._state.apply(entry)
            else:
                self._position.apply(entry)
        except JournalBroken as error:
            raise codec.needs_repair(error, self._place.run) from None
        self._names_crc = folder_names.names_crc([(entry.seq, entry.ulid)], self._names_crc)
        self.unpacked.append(entry)

    def note(self, entry: Entry, line: bytes) -> None:
        """Add the value or digest of an entry to the pack."""
        self._lines_of[entry.seq] = line

    def set_side_values(self, values: SideValues) -> None:
        """Add values and digests that were read from separate files to the pack."""
        self._side_values = values

    def set_mark(self, *, looked: folder_names.Mark | None) -> None:
        """Set a mark on the folder, unless it has changed since the listing."""
        journal = self._place.journal
        is_untouched = looked is not None and looked == folder_names.mark_of(journal)
        self._mark = folder_names.set_mark(journal, os.urandom(4)) if is_untouched else None
        self._is_our_mark = self._mark is not None

    def extend_pack(self) -> None:
        """Write the pack. Only for the holder of the run's lock."""
        if not self._is_our_mark and self._mark is not None and folder_names.is_settled(self._mark):
            self.set_mark(looked=self._mark)
        elif self._end is not None and not (self.unpacked or self._side_values.count or self._side_values.stamps):
            return  # no gain for the next reader
        # Values in separate lines are slower to read than with their entries: many of them cause a rewrite.
        new = self.unpacked
        if self._end is None or 0 < len(self.packed.entries) < 4 * self._side_values.count:
            self._write_pack()
        else:
            self._append_to_pack(self._end)
        self.packed.entries.extend(new)
        self.unpacked, self._side_values = [], SideValues()
        self._lines_of.clear()

    def _take_pack(self, packed: read_pack.Packed) -> bool:
        if not packed.entries:
            return False
        self._state = packed.state
        if packed.seal is not None and packed.seal.seq == self._state.position.seq:
            self._names_crc = packed.seal.names_crc
        else:
            self._names_crc = folder_names.names_crc((entry.seq, entry.ulid) for entry in packed.entries)
        self._end = packed.end
        self._mark = packed.seal.mark if packed.seal is not None else None
        self._is_our_mark = self._mark is not None
        self.packed = packed
        return True

    def _write_pack(self) -> None:
        """Rewrite the pack: every entry with its known value or digest."""
        disk.make_private_folder(self._place.pack.parent)
        head = write_pack.checkpoint_line(Position())
        end = write_pack.End(size=len(head), crc=crc32(head), checkpoint=0, checkpoint_bytes=len(head))
        self._side_values = SideValues(
            self.packed.values | self._side_values.values,
            self.packed.digests | self._side_values.digests,
            self.packed.stamps | self._side_values.stamps,
        )
        self.unpacked = self.packed.entries + self.unpacked
        more, self._end = self._lines(end)
        disk.replace_cache(self._place.pack, head + more)

    def _append_to_pack(self, end: write_pack.End) -> None:
        more, grown = self._lines(end)
        fd = os.open(self._place.pack, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            is_same = os.fstat(fd).st_size == end.size  # else it was replaced
            if is_same:
                disk.write_all(fd, more)
            self._end = grown if is_same else None
        finally:
            os.close(fd)

    def _lines(self, end: write_pack.End) -> tuple[bytes, write_pack.End]:
        """Return the next lines (missing entries, a checkpoint if due, the seal) and the new end."""
        text = b"".join([self._line_of(entry) for entry in self.unpacked] + self._side_values.lines())
        checkpoint, checkpoint_bytes = end.checkpoint, end.checkpoint_bytes
        behind = end.size + len(text) - checkpoint - checkpoint_bytes
        if behind > max(write_pack.CHECKPOINT_AFTER_BYTES, checkpoint_bytes):
            line = write_pack.checkpoint_line(self.position)
            checkpoint, checkpoint_bytes = end.size + len(text), len(line)
            text += line
        crc = crc32(text, end.crc)
        mark = self._mark if self._is_our_mark else None
        seal = write_pack.seal_line(write_pack.Seal(self.position.seq, self._names_crc, mark, checkpoint, crc))
        size = end.size + len(text) + len(seal)
        grown = write_pack.End(
            size=size, crc=crc32(seal, crc), checkpoint=checkpoint, checkpoint_bytes=checkpoint_bytes
        )
        return text + seal, grown

    def _line_of(self, entry: Entry) -> bytes:
        """Return the line of an entry with its value or digest."""
        line = self._lines_of.get(entry.seq)
        if line is None and self._side_values.count and entry.type in (EFFECT_REQUESTED, EFFECT_RESOLVED):
            return self._side_values.line_of(entry)
        return write_pack.entry_line(entry) if line is None else line

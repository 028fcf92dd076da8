"""What is known of a journal in a folder: from the pack as far as it goes, from the entries' files beyond it.

A view knows the standing, or the whole state once that is asked for. It also knows what the pack lacks, so that
whoever holds the run's lock can let the pack grow by it.
"""

from __future__ import annotations

import gc
import os
from zlib import crc32

from bridle.errors import JournalBroken
from bridle.ground import disk
from bridle.ground.light.abc_names import Callable
from bridle.ground.light.quick_path import Path
from bridle.journal.format import folder_names, layout
from bridle.journal.format.entries import EFFECT_REQUESTED, EFFECT_RESOLVED, Entry
from bridle.journal.format.state import Position, State
from bridle.journal.pack import read_pack, write_pack
from bridle.journal.pack.learned import Learned


class Place:
    """Where a run's journal and its pack are, and how an entry's file is read."""

    __slots__ = ("journal", "load", "pack")

    def __init__(self, run: Path, load: Callable[[int, str], Entry]) -> None:
        self.journal = run / layout.JOURNAL
        self.pack = run / layout.STATE / layout.PACK_FILE
        self.load = load


class View:
    """A journal as it was when it was looked at, and as it goes on from there."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._state: State | None = None
        self._standing = Position()
        self._names_crc = 0
        self._mark: folder_names.Mark | None = None
        """What the folder looked like when it held what is known, and nothing else."""
        self._is_our_mark = False
        """Whether a writer set that mark, so that nobody can have changed the folder without changing it."""
        self._end: write_pack.End | None = None
        """Where the pack ends; None when it has to be written anew."""
        self.packed = read_pack.Packed()
        """What the pack knows beside the entries, where all of it was read."""
        self.lacking: list[Entry] = []
        """The entries that the pack lacks."""
        self._lines_of: dict[int, bytes] = {}
        """Lines that say more of an entry than the entry itself does, by its number."""
        self._learned = Learned()

    @classmethod
    def of_standing(cls, place: Place, *, trusts_mark: bool = True) -> View:
        """What is needed to know where the run stands: the end of the pack, and the entries behind it."""
        tail = read_pack.read_tail(place.pack, place.load)
        if tail is None:
            return cls.of_state(place)
        view = cls(place)
        view._standing, view._names_crc, view._end = tail.standing, tail.seal.names_crc, tail.end
        view._mark, view._is_our_mark = tail.seal.mark, tail.seal.mark is not None
        if (trusts_mark and view.is_current()) or view.catch_up():
            return view
        return cls.of_state(place)

    @classmethod
    def of_state(cls, place: Place) -> View:
        """Everything."""
        # A long run makes a hundred thousand objects here and none of them is garbage: looking for some while they
        # are made takes a quarter of the time.
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
        """Everything, from the entries' own files alone."""
        view = cls(place)
        view._state = State()
        view.catch_up()
        return view

    def go_on(self) -> bool:
        """Take in what happened since this view was last used, at the cost of what is new; False where it cannot.

        Only for a view that knows everything and that the pack has caught up with; when it fails it is of no use.
        """
        if self._end is None or self._state is None or self.lacking:
            return False
        if self.is_current():
            return True
        if not read_pack.read_more(self._place.pack, self.packed, self._end, self._place.load):
            return False
        seal, self._end = self.packed.seal, self.packed.end
        if seal is None or seal.seq != self._state.standing.seq:
            return False
        self._names_crc, self._mark, self._is_our_mark = seal.names_crc, seal.mark, seal.mark is not None
        return self.is_current() or self.catch_up()

    @property
    def can_go_on(self) -> bool:
        """Whether the view may be kept for the next look: it knows everything, and so does the pack."""
        return self._state is self.packed.state and self._end is not None and not self.lacking

    @property
    def standing(self) -> Position:
        """Where the run stands."""
        return self._standing if self._state is None else self._state.standing

    @property
    def state(self) -> State:
        """Everything; read when it is first asked for."""
        if self._state is None:
            whole, known = View.of_state(self._place), self.standing
            if (whole.standing.seq, whole.standing.ulid) != (known.seq, known.ulid):
                raise JournalBroken(
                    f"the journal {self._place.journal} changed while it was read",
                    remedy="Somebody writes to it without its lock. Run the command again.",
                )
            self._state, self.packed, self.lacking, self._end = whole.state, whole.packed, whole.lacking, whole._end
            if whole._mark != self._mark:
                self._mark, self._is_our_mark = whole._mark, whole._is_our_mark
        return self._state

    def is_current(self) -> bool:
        """Whether nobody has touched the folder since."""
        return self._mark is not None and self._mark == folder_names.mark_of(self._place.journal)

    def catch_up(self) -> bool:
        """Read the entries that are not known yet; False when those that are known are not the folder's."""
        # Looked at before the names are: a change in between is then noticed by whoever looks next.
        self._mark, self._is_our_mark = folder_names.mark_of(self._place.journal), False
        found = folder_names.list_names(self._place.journal)
        known = self.standing.seq
        if len(found) < known or folder_names.names_crc(found[:known]) != self._names_crc:
            return False
        for seq, ulid in found[known:]:
            self.take(self._place.load(seq, ulid))
        return True

    def take(self, entry: Entry) -> None:
        """Go on by one entry."""
        if self._state is not None:
            self._state.apply(entry)
        else:
            self._standing.apply(entry)
        self._names_crc = folder_names.names_crc([(entry.seq, entry.ulid)], self._names_crc)
        self.lacking.append(entry)

    def note(self, entry: Entry, line: bytes) -> None:
        """Let the pack say more of an entry than the entry itself does."""
        self._lines_of[entry.seq] = line

    def learn(self, learned: Learned) -> None:
        """Let the pack know values and digests that were read from files of their own."""
        self._learned = learned

    def set_mark(self, *, looked: folder_names.Mark | None) -> None:
        """Mark the folder as known, unless somebody has touched it since it was looked at."""
        journal = self._place.journal
        is_untouched = looked is not None and looked == folder_names.mark_of(journal)
        self._mark = folder_names.set_mark(journal, os.urandom(4)) if is_untouched else None
        self._is_our_mark = self._mark is not None

    def grow_pack(self) -> None:
        """Let the pack say what is known. Only the holder of the run's lock may."""
        if not self._is_our_mark and self._mark is not None and folder_names.is_settled(self._mark):
            self.set_mark(looked=self._mark)
        elif not self.lacking and not self._learned.count:
            return  # nothing that the next reader would gain by
        # Values in lines of their own are slower to read than beside their entries: many of them are put there.
        new = self.lacking
        if self._end is None or 0 < len(self.packed.entries) < 4 * self._learned.count:
            self._write_pack()
        else:
            self._append_to_pack(self._end)
        self.packed.entries.extend(new)
        self.lacking, self._learned = [], Learned()
        self._lines_of.clear()

    def _take_pack(self, packed: read_pack.Packed) -> bool:
        if not packed.entries:
            return False
        self._state = packed.state
        if packed.seal is not None and packed.seal.seq == self._state.standing.seq:
            self._names_crc = packed.seal.names_crc
        else:
            self._names_crc = folder_names.names_crc((entry.seq, entry.ulid) for entry in packed.entries)
        self._end = packed.end
        self._mark = packed.seal.mark if packed.seal is not None else None
        self._is_our_mark = self._mark is not None
        self.packed = packed
        return True

    def _write_pack(self) -> None:
        """Write it anew: every entry, with what is known of its value and its inputs beside it."""
        disk.make_private_folder(self._place.pack.parent)
        head = write_pack.checkpoint_line(Position())
        end = write_pack.End(size=len(head), crc=crc32(head), checkpoint=0, checkpoint_bytes=len(head))
        self._learned = Learned(self.packed.values | self._learned.values, self.packed.digests | self._learned.digests)
        self.lacking = self.packed.entries + self.lacking
        more, self._end = self._lines(end)
        disk.replace_cache(self._place.pack, head + more)

    def _append_to_pack(self, end: write_pack.End) -> None:
        more, grown = self._lines(end)
        fd = os.open(self._place.pack, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            is_same = os.fstat(fd).st_size == end.size  # else somebody has put another in its place
            if is_same:
                disk.write_all(fd, more)
            self._end = grown if is_same else None
        finally:
            os.close(fd)

    def _lines(self, end: write_pack.End) -> tuple[bytes, write_pack.End]:
        """What comes next: what lacks, a checkpoint if it is time, the seal; and where the pack ends then."""
        text = b"".join([self._line_of(entry) for entry in self.lacking] + self._learned.lines())
        checkpoint, checkpoint_bytes = end.checkpoint, end.checkpoint_bytes
        behind = end.size + len(text) - checkpoint - checkpoint_bytes
        if behind > max(write_pack.CHECKPOINT_AFTER_BYTES, checkpoint_bytes):
            line = write_pack.checkpoint_line(self.standing)
            checkpoint, checkpoint_bytes = end.size + len(text), len(line)
            text += line
        crc = crc32(text, end.crc)
        mark = self._mark if self._is_our_mark else None
        seal = write_pack.seal_line(write_pack.Seal(self.standing.seq, self._names_crc, mark, checkpoint, crc))
        size = end.size + len(text) + len(seal)
        grown = write_pack.End(
            size=size, crc=crc32(seal, crc), checkpoint=checkpoint, checkpoint_bytes=checkpoint_bytes
        )
        return text + seal, grown

    def _line_of(self, entry: Entry) -> bytes:
        """The line of an entry, with what was learned about it."""
        line = self._lines_of.get(entry.seq)
        if line is None and self._learned.count and entry.type in (EFFECT_REQUESTED, EFFECT_RESOLVED):
            return self._learned.line_of(entry)
        return write_pack.entry_line(entry) if line is None else line

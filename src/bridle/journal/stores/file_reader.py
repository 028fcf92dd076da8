"""The reader of a run's folder: one file for each entry, and the pack beside them.

`file_store` is the writing side. Every entry is verified when it is read, except those in the pack, which has checksums
of its own; every other file of the run is verified by the digest in its entry.
"""

from __future__ import annotations

import os
import time

from bridle.errors import DiskError, JournalBroken, LockHeld, RunNotFound
from bridle.ground import disk
from bridle.ground.light.abc_names import Iterable, Iterator
from bridle.ground.light.quick_path import Path
from bridle.journal.format import codec, documents, folder_names, layout
from bridle.journal.format.documents import RunMetadata, TaskDocument
from bridle.journal.format.entries import OK, RUN_CREATED, Effect, Entry, Result
from bridle.journal.format.state import COMPLETED, Position, State, broken, file_name, requested_effect
from bridle.journal.stores import read_pack, write_lock
from bridle.journal.stores.effect_files import TaskFiles
from bridle.journal.stores.post_rules import check_key
from bridle.journal.stores.view import Place, View
from bridle.journal.stores.write_pack import SideValues, Stamp

# A reader that had to read this many entries one by one writes the pack for the next reader. Fewer are read quickly
# enough, and a folder that is only inspected stays unchanged.
WORTH_PACKING_ENTRIES = 100

# Entries are small; the data of a process or an agent may be large, but not this large.
ENTRY_LIMIT_BYTES = 256 * 1024 * 1024


class FileReader:
    """One run in its folder, read-only.

    With `reuses_view`, the next call reads only what is new. It updates the same State object, so the caller must not
    rely on an old one.
    """

    def __init__(self, run: Path, *, reuses_view: bool = False) -> None:
        self.run = run
        self._reuses_view = reuses_view
        self._kept: list[View] = []
        self._journal = str(run / layout.JOURNAL)
        self._tasks = str(run / layout.TASKS)
        self.tasks = TaskFiles(run)
        self.place = Place(run, self.load)
        self._metadata: RunMetadata | None = None
        self._values: dict[str, object] = {}
        self._digests: dict[str, str] = {}
        self._stamps: dict[str, Stamp] = {}
        self._remembered: read_pack.Packed | None = None
        self._side_values = SideValues()

    def metadata(self) -> RunMetadata:
        """Return the content of run.json, verified by the first entry; raise RunNotFound if it is missing."""
        if self._metadata is None:
            self._metadata = self._verified_metadata()
        return self._metadata

    def unverified_metadata(self) -> RunMetadata:
        """Return the content of run.json, changed or not; raise RunNotFound if it is missing."""
        return self._read_metadata(None)

    def _verified_metadata(self) -> RunMetadata:
        packed = read_pack.read_first(self.place.pack, self.load)
        if packed is not None:
            try:
                return self._read_metadata(packed)
            except JournalBroken:
                pass  # or it is the pack of another journal: the entry's own file decides
        names = folder_names.list_names(self.place.journal) if os.path.lexists(self.run / layout.RUN_FILE) else []
        return self._read_metadata(self.load(*names[0]) if names and names[0][0] == 1 else None)

    def _read_metadata(self, first: Entry | None) -> RunMetadata:
        path = self.run / layout.RUN_FILE
        if not os.path.lexists(path):
            raise RunNotFound(
                f"no run at {self.run}: {layout.RUN_FILE} is missing",
                remedy="Pass the run's folder, or its id with --runs-dir.",
            )
        # Earlier versions and other implementations record no digest.
        digest = first.text(layout.RUN_DIGEST) if first is not None and first.type == RUN_CREATED else None
        return RunMetadata(self.tasks.read_object(path, digest=digest))

    def inputs(self, created: Entry | None) -> object:
        """Return the inputs of the run, verified by its first entry; None without inputs."""
        return self.tasks.inputs(created)

    def entries(self, *, after: int = 0) -> Iterator[Entry]:
        """Yield the entries after that number, each read from its file and verified."""
        for expected, (seq, ulid) in enumerate(folder_names.list_names(self.place.journal)[after:], after + 1):
            entry = self.load(seq, ulid)
            if seq != expected:
                gap = broken(entry, f"is out of sequence (expected {expected}, found {seq})")
                raise codec.needs_repair(gap, self.run)
            yield entry

    def load(self, seq: int, ulid: str) -> Entry:
        """Read one entry from its file."""
        path = f"{self._journal}/{file_name(seq, ulid)}"  # creating a Path would take as long as reading the file
        try:
            return codec.decode(seq, ulid, disk.read_bounded(path, ENTRY_LIMIT_BYTES))
        except DiskError as error:
            raise codec.bad_file(path, error.message) from error
        except codec.BadText as error:
            raise codec.bad_file(path, str(error)) from error

    def position(self) -> Position:
        """Return the summary of the run's state, at constant cost."""
        self.metadata()
        view = self.pop_view() or View.of_position(self.place)
        self._leave_pack(view)
        self.keep_view(view)
        return view.position

    def state(self) -> State:
        """Return the full state of the run."""
        self.metadata()
        view = self.pop_view() or View.of_state(self.place)
        self.remember(view.packed)
        self._leave_pack(view)
        self.keep_view(view)
        return view.state

    def pop_view(self) -> View | None:
        """Return the kept view, updated, for one caller at a time, or None."""
        try:
            view = self._kept.pop()  # removed at once: another thread must not use the same view
        except IndexError:
            return None
        return view if view.refresh() else None

    def keep_view(self, view: View) -> None:
        """Keep a view for the next call, if enabled."""
        if self._reuses_view and view.is_reusable:
            self._kept[:] = [view]

    def task(self, effect: Effect) -> TaskDocument:
        """Return an effect's task.json with its inputs, verified."""
        return self.tasks.task(effect)

    def inputs_digest(self, effect: Effect) -> str:
        """Return the digest of an effect's arguments; see `documents.digest_of`."""
        digest = self._digests.get(effect.effect_id)
        if digest is None:
            digest = documents.digest_of(self.task(effect).inputs)
            self._digests[effect.effect_id] = digest
            self._side_values.digests[effect.effect_id] = digest
        return digest

    def result(self, effect: Effect) -> Result:
        """Return the result of a resolved effect, verified; the caller must not modify it.

        A known value is used while the stamp of its file is that of the file that was verified.
        """
        effect_id = effect.effect_id
        stamp = self._stamp(effect_id)
        if effect_id in self._values and stamp is not None and self._stamps.get(effect_id) == stamp:
            return Result(OK, self._values[effect_id], None)
        result = self.tasks.result(effect)
        if result.status == OK:
            if effect_id not in self._values:
                self._side_values.values[effect_id] = result.value
            self._values[effect_id] = result.value
        if result.blob_ref is None:
            self._set_verified(effect_id, stamp)
        return result

    def verified_position(self) -> Position:
        """Return the summary of the run's state after verifying the inputs and every result.

        While every result has the stamp of a verified file, the full state is not read.
        """
        self.metadata()
        view = View.of_position(self.place)
        created = read_pack.read_first(self.place.pack, self.load)
        if view.unpacked or created is None or not self._are_stamped(read_pack.read_stamps(self.place.pack)):
            state = self.state()
            self.inputs(state.created)
            self.verify_results(state.resolved)
            return state.position
        self.inputs(created)
        return view.position

    def _are_stamped(self, known: dict[str, Stamp | None] | None) -> bool:
        return known is not None and all(
            stamp is not None and self._stamp(effect_id) == stamp for effect_id, stamp in known.items()
        )

    def verify_results(self, effects: Iterable[Effect]) -> None:
        """Raise JournalBroken if a result of these effects was changed; read only files with a new stamp."""
        for effect in effects:
            stamp = self._stamp(effect.effect_id)
            if stamp is None or self._stamps.get(effect.effect_id) != stamp:
                self.result(effect)

    def verify_tasks(self, effects: Iterable[Effect]) -> None:
        """Raise JournalBroken if a task of these effects was changed; read all of them."""
        for effect in effects:
            self.tasks.verify_task(effect)

    def verify_files(self, state: State) -> None:
        """Raise JournalBroken if run.json, the inputs, a task, a result or the output was changed; read all of them."""
        self.metadata()
        self.inputs(state.created)
        self.verify_tasks(state.effects.values())
        for effect in state.resolved:
            self.tasks.result(effect)
        if state.position.end == COMPLETED:
            self.output(state.ended)

    def _stamp(self, effect_id: str) -> Stamp | None:
        """Return the stamp of a result's file; None if it cannot be read."""
        try:
            found = os.stat(f"{self._tasks}/{effect_id}/{layout.RESULT_FILE}")
        except OSError:
            return None
        return [found.st_ino, found.st_size, found.st_ctime_ns]

    def _set_verified(self, effect_id: str, stamp: Stamp | None) -> None:
        # A file that was changed a moment ago can change again without a new stamp.
        if stamp is not None and time.time_ns() - stamp[2] > folder_names.SETTLED_NANOSECONDS:
            self._stamps[effect_id] = self._side_values.stamps[effect_id] = stamp

    def output(self, ended: Entry | None) -> object:
        """Return the output of a completed run, verified by its last entry."""
        digest = None if ended is None else ended.text(layout.OUTPUT_DIGEST)
        return self.tasks.read(self.run / layout.OUTPUT_REF, digest=digest)

    def pending_effect(self, position: Position, effect_id: str, *, key: str | None = None) -> Effect | None:
        """Return a pending effect, read from the entry of its request; None if it is not pending."""
        pending = position.pending.get(effect_id)
        if pending is None:
            return None
        effect = requested_effect(self.load(pending.seq, pending.ulid))
        check_key(effect, key)
        return effect

    def remember(self, packed: read_pack.Packed) -> None:
        """Replace the known values by those of the pack; a repair may have invalidated the old ones."""
        if packed is not self._remembered:
            self._remembered, self._values, self._digests = packed, packed.values, packed.digests
            self._stamps = packed.stamps

    def take_side_values(self) -> SideValues:
        """Return the values that were read from separate files since the last call."""
        values, self._side_values = self._side_values, SideValues()
        return values

    def _leave_pack(self, view: View) -> None:
        """Write the pack for the next reader, unless the run is locked."""
        if len(view.unpacked) < WORTH_PACKING_ENTRIES:
            return
        try:
            lock = write_lock.take(self.run, "a reader that writes the pack", wait_seconds=0)
        except (LockHeld, DiskError):
            return
        with lock:
            # If the last writer died, the mark is not sufficient, and its record is lost once we release the lock.
            if view.is_current() if lock.predecessor is None else view.catch_up():
                try_extend_pack(view)


def try_extend_pack(view: View) -> None:
    """Extend the pack if possible."""
    try:
        view.extend_pack()
    except (OSError, DiskError):
        pass  # the next reader works without the cache

"""A run's folder, read: the format's layout, one file for each entry, and the pack beside it.

The side that writes is `files`. Every entry that is read is verified, except those that
the pack vouches for.
"""

from __future__ import annotations

import os

from bridle.errors import DiskError, LockHeld, RunNotFound
from bridle.ground import disk
from bridle.ground.light.abc_names import Iterator, Mapping
from bridle.ground.light.quick_path import Path
from bridle.journal.format import codec, documents, folder_names, layout
from bridle.journal.format.entries import OK, Effect, Entry, Result
from bridle.journal.format.state import Position, State, broken, file_name, requested_effect
from bridle.journal.pack import read_pack
from bridle.journal.pack.learned import Learned
from bridle.journal.stores import write_lock
from bridle.journal.stores.effect_files import TaskFiles
from bridle.journal.stores.post_rules import check_key
from bridle.journal.stores.view import Place, View

# A reader that had to read this many entries one by one writes the pack for the next one, where it may. Fewer are
# read before a person notices, and a folder that one only looks into stays as it is.
WORTH_PACKING_ENTRIES = 100

# Entries are small; what a process or an agent put into one may be large, but not this large.
ENTRY_LIMIT_BYTES = 256 * 1024 * 1024


class FileReader:
    """One run, in its folder, for those who only read.

    `keeps`: what was read is kept for the next look, which then costs what is new. The state that was given out goes on
    with it: for somebody who looks at it again and again, and never at an old one.
    """

    def __init__(self, run: Path, *, keeps: bool = False) -> None:
        self.run = run
        self._keeps = keeps
        self._kept: list[View] = []
        self._journal = str(run / layout.JOURNAL)
        self.tasks = TaskFiles(run)
        self.place = Place(run, self.load)
        self._metadata: dict[str, object] | None = None
        self._values: dict[str, object] = {}
        self._digests: dict[str, str] = {}
        self._remembered: read_pack.Packed | None = None
        self._learned = Learned()

    def metadata(self) -> Mapping[str, object]:
        """What run.json says; RunNotFound where there is none."""
        if self._metadata is None:
            if not os.path.lexists(self.run / layout.RUN_FILE):
                raise RunNotFound(
                    f"there is no run at {self.run}: it has no {layout.RUN_FILE}",
                    remedy="Give the run's folder, or its id together with --runs-dir.",
                )
            self._metadata = self.tasks.read_object(self.run / layout.RUN_FILE)
        return self._metadata

    def inputs(self) -> object:
        """What the run was created with; None when it has no inputs."""
        path = self.run / layout.INPUTS_FILE
        return self.tasks.read(path) if os.path.lexists(path) else None

    def entries(self, *, after: int = 0) -> Iterator[Entry]:
        """The entries behind that number, each read from its file and verified."""
        for expected, (seq, ulid) in enumerate(folder_names.list_names(self.place.journal)[after:], after + 1):
            entry = self.load(seq, ulid)
            if seq != expected:
                raise broken(entry, f"is out of sequence (expected {expected}, found {seq})")
            yield entry

    def load(self, seq: int, ulid: str) -> Entry:
        """One entry, from its own file."""
        path = f"{self._journal}/{file_name(seq, ulid)}"  # a Path would take as long to make as the file to read
        try:
            return codec.decode(seq, ulid, disk.read_bounded(path, ENTRY_LIMIT_BYTES))
        except DiskError as error:
            raise codec.bad_file(path, error.message) from error
        except codec.BadText as error:
            raise codec.bad_file(path, str(error)) from error

    def standing(self) -> Position:
        """Where the run stands; costs the same for a long run as for a short one."""
        self.metadata()
        view = self.kept_view() or View.of_standing(self.place)
        self._leave_pack(view)
        self.keep_view(view)
        return view.standing

    def state(self) -> State:
        """Everything that the journal says."""
        self.metadata()
        view = self.kept_view() or View.of_state(self.place)
        self.remember(view.packed)
        self._leave_pack(view)
        self.keep_view(view)
        return view.state

    def kept_view(self) -> View | None:
        """The view of the last look, brought up to date, for one user at a time; None where there is none."""
        try:
            view = self._kept.pop()  # taken away at once: another thread must not go on with the same
        except IndexError:
            return None
        return view if view.go_on() else None

    def keep_view(self, view: View) -> None:
        """Keep a view for the next look, where that is wanted."""
        if self._keeps and view.can_go_on:
            self._kept[:] = [view]

    def task(self, effect_id: str) -> Mapping[str, object]:
        """What task.json of that effect says, its inputs with it."""
        return self.tasks.task(effect_id)

    def inputs_digest(self, effect: Effect) -> str:
        """The digest of the arguments that an effect was asked for with; see `documents.digest_of`."""
        digest = self._digests.get(effect.effect_id)
        if digest is None:
            digest = documents.digest_of(self.task(effect.effect_id).get("inputs"))
            self._digests[effect.effect_id] = digest
            self._learned.digests[effect.effect_id] = digest
        return digest

    def result(self, effect: Effect) -> Result:
        """The result of a resolved effect; what it holds is not to be changed."""
        if effect.effect_id in self._values:
            return Result(OK, self._values[effect.effect_id], None)
        result = self.tasks.result(effect)
        if result.status == OK:
            self._values[effect.effect_id] = result.value
            self._learned.values[effect.effect_id] = result.value
        return result

    def output(self) -> object:
        """What the process of a completed run returned."""
        return self.tasks.read(self.run / layout.OUTPUT_REF)

    def pending_effect(self, standing: Position, effect_id: str, *, key: str | None = None) -> Effect | None:
        """An effect that waits for its result, from the one entry that asked for it; None where it does not wait."""
        pending = standing.pending.get(effect_id)
        if pending is None:
            return None
        effect = requested_effect(self.load(pending.seq, pending.ulid))
        check_key(effect, key)
        return effect

    def remember(self, packed: read_pack.Packed) -> None:
        """Take over what the pack knows of results and inputs; what was known before may have been repaired away."""
        if packed is not self._remembered:
            self._remembered, self._values, self._digests = packed, packed.values, packed.digests

    def take_learned(self) -> Learned:
        """What was read from files of their own since this was last asked for."""
        learned, self._learned = self._learned, Learned()
        return learned

    def _leave_pack(self, view: View) -> None:
        """Write down for the next reader what took long to read, unless somebody else is at work."""
        if len(view.lacking) < WORTH_PACKING_ENTRIES:
            return
        try:
            lock = write_lock.take(self.run, "a reader that writes the pack", wait_seconds=0)
        except (LockHeld, DiskError):
            return
        with lock:
            # Where the last writer died the mark is not enough, and its note is gone once we let the lock go.
            if view.is_current() if lock.predecessor is None else view.catch_up():
                grow_quietly(view)


def grow_quietly(view: View) -> None:
    """Let the pack grow where that can be done."""
    try:
        view.grow_pack()
    except (OSError, DiskError):
        pass  # a cache that cannot be written is one that the next reader does without

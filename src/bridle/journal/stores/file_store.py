"""The store in a folder: `file_reader` plus the only code that writes journals.

An entry is durable before the call returns: written to a file beside the journal, synced together with the files that
it refers to, renamed into the journal, the folder synced.
"""

from __future__ import annotations

import os
import time

from bridle.errors import DiskError, InternalError, JournalBroken
from bridle.ground import disk
from bridle.ground.light.abc_names import Mapping
from bridle.ground.light.moments import iso
from bridle.ground.light.quick_path import Path
from bridle.ground.lock import FileLock
from bridle.ground.sync_group import SyncGroup
from bridle.ground.ulid import RANDOM_BYTES, next_ulid
from bridle.journal.format import codec, documents, folder_names, layout
from bridle.journal.format.digest import sha256
from bridle.journal.format.entries import (
    EFFECT_REQUESTED,
    EFFECT_RESOLVED,
    OK,
    RUN_COMPLETED,
    STOP_HOOK_INVOKED,
    Entry,
    Posted,
    Request,
)
from bridle.journal.format.key_order import canonical
from bridle.journal.format.state import Position, State, file_name
from bridle.journal.stores import write_lock, write_pack
from bridle.journal.stores.chain_file import ChainWriter
from bridle.journal.stores.file_reader import FileReader, try_extend_pack
from bridle.journal.stores.post_rules import check_answer, check_unused, pending_effect
from bridle.journal.stores.view import View

# Equals `store.LOCK_WAIT_SECONDS`, whose module imports more than a hook can afford.
LOCK_WAIT_SECONDS = 10.0

# The format's cache lists every effect, so its cost grows with the run. It is updated at the start of a run and written
# again at its end; in between other implementations detect that it is outdated.
SNAPSHOT_LIMIT_ENTRIES = 20


class FileStore(FileReader):
    """One run in its folder."""

    def write(self, owner: str, *, wait_seconds: float = LOCK_WAIT_SECONDS) -> LockedWriter:
        """Return a writer under the run's lock; raise LockHeld with the holder after the wait."""
        return LockedWriter(self, owner, wait_seconds)


class LockedWriter:
    """The run's lock, held inside the `with` block."""

    def __init__(self, store: FileStore, owner: str, wait_seconds: float) -> None:
        self._store = store
        self._owner = owner
        self._wait_seconds = wait_seconds
        self._held: tuple[FileLock, FileWriter] | None = None

    def __enter__(self) -> FileWriter:
        self._store.metadata()  # raises for a folder that is not a run, before anything is written to it
        lock = write_lock.take(self._store.run, self._owner, wait_seconds=self._wait_seconds)
        try:
            writer = FileWriter(self._store, is_after_a_crash=lock.predecessor is not None)
        except BaseException:
            lock.release()
            raise
        self._held = (lock, writer)
        return writer

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if self._held is None:
            return
        lock, writer = self._held
        try:
            writer.end()
        finally:
            lock.release()


class FileWriter:
    """Appends to a run, one entry at a time."""

    def __init__(self, store: FileStore, *, is_after_a_crash: bool) -> None:
        self._store = store
        if is_after_a_crash:
            _clear_leftovers(store.run)
        # If the last writer died, only the folder shows whether its entry was written, not the mark.
        view = None if is_after_a_crash else store.pop_view()
        self._view = view or View.of_position(store.place, trusts_mark=not is_after_a_crash)
        self._check_newest()
        self.epoch = self._view.position.seq + 1
        self._chain = ChainWriter(store.run)
        self._last_id = ""
        self._output_digest: str | None = None
        self._last_type: str | None = None
        self._is_over = False
        self._has_failed = False

    @property
    def position(self) -> Position:
        """Return the present summary of the run."""
        return self._view.position

    @property
    def state(self) -> State:
        """Return the present state of the run."""
        state = self._view.state
        self._store.remember(self._view.packed)
        return state

    def new_id(self, *, not_before_ns: int = 0) -> str:
        """Return a new ULID, greater than every id in the journal and every id of this writer."""
        latest, now_ms = max(self._last_id, self.position.ulid), max(time.time_ns(), not_before_ns) // 1_000_000
        try:
            self._last_id = next_ulid(latest, now_ms=now_ms, random=os.urandom(RANDOM_BYTES))
        except JournalBroken as error:
            raise codec.needs_repair(error, self._store.run) from None
        return self._last_id

    def append(self, entry_type: str, data: Mapping[str, object]) -> Entry:
        """Append one entry, durably."""
        if entry_type == RUN_COMPLETED and self._output_digest is not None:
            data = {**data, layout.OUTPUT_DIGEST: self._output_digest}
        with SyncGroup() as group:
            return self._append(entry_type, data, group)

    def request(self, request: Request) -> Entry:
        """Write task.json, then append EFFECT_REQUESTED."""
        self._catch_up()
        check_unused(self.state, request)
        with SyncGroup() as group:
            refs = self._store.tasks.write_task(request, group)
            data = documents.requested_data(request, task_ref=refs.ref, inputs_ref=refs.inputs_ref)
            data[layout.TASK_DIGEST] = refs.sha256
            if request.blobs:
                data[layout.BLOB_REFS] = [
                    f"{layout.TASKS}/{request.effect_id}/{layout.BLOBS}/{name}" for name in request.blobs
                ]
            return self._append(EFFECT_REQUESTED, data, group, digest=documents.digest_of(request.inputs))

    def resolve(self, effect_id: str, posted: Posted, *, key: str | None = None) -> Entry:
        """Write result.json, then append EFFECT_RESOLVED."""
        posted = documents.clean_posted(posted)
        self._catch_up()
        effect = self._store.pending_effect(self.position, effect_id, key=key)
        if effect is None:
            effect = pending_effect(self.state, effect_id, key=key)
        check_answer(effect, posted)
        with SyncGroup() as group:
            refs = self._store.tasks.write_result(effect, posted, group)
            data = documents.resolved_data(
                effect_id, posted, result_ref=refs.ref, stdout_ref=refs.stdout_ref, stderr_ref=refs.stderr_ref
            )
            data |= {layout.RESULT_DIGEST: refs.sha256, **refs.digests}
            value, has_value = canonical(posted.value), posted.status == OK
            return self._append(EFFECT_RESOLVED, data, group, value=value, has_value=has_value)

    def write_output(self, value: object) -> str:
        """Write the output of the process; return the reference for RUN_COMPLETED."""
        path, text = self._store.run / layout.OUTPUT_REF, codec.pretty(value)
        disk.make_private_folder(path.parent)
        disk.write_atomic(path, text)
        self._output_digest = sha256(text)
        return layout.OUTPUT_REF

    def rebuild(self) -> State:
        """Read and verify every entry and every file of the run; the pack is rewritten when the lock is released."""
        view = View.of_files(self._store.place)
        self._store.verify_files(view.state)
        self._view = view
        return self._view.state

    def end(self) -> None:
        """Update the caches before the lock is released."""
        self._is_over = True
        if self._has_failed:
            return
        if self._last_type is not None and self._is_worth_a_snapshot(self._last_type):
            self._write_snapshot(self._last_type)
        self._view.set_side_values(self._store.take_side_values())
        try_extend_pack(self._view)
        self._store.keep_view(self._view)

    def _is_worth_a_snapshot(self, last_type: str) -> bool:
        if last_type == STOP_HOOK_INVOKED:  # changes nothing in it, and a hook must be fast
            return False
        return self.position.end is not None or self.position.seq <= SNAPSHOT_LIMIT_ENTRIES

    def _append(
        self,
        entry_type: str,
        data: Mapping[str, object],
        group: SyncGroup,
        *,
        value: object = None,
        has_value: bool = False,
        digest: str | None = None,
    ) -> Entry:
        """Append an entry; what it refers to is in the group, and becomes durable with the entry's text."""
        if self._is_over or self._has_failed:
            raise InternalError("a writer that has released its lock or has failed cannot append")
        recorded_ns = time.time_ns()
        text = codec.encode(entry_type, iso(recorded_ns), self._with_harness(data))
        temporary = disk.temporary_name(self._store.run)
        self._has_failed = True  # until the entry is durable: after a failure the state is unknown
        try:
            group.write_new(temporary, text)
            group.sync()
            entry = self._place(temporary, text, recorded_ns)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        self._view.note(entry, write_pack.entry_line(entry, value=value, has_value=has_value, digest=digest))
        self._last_type = entry_type
        self._has_failed = False
        return entry

    def _place(self, temporary: Path, text: bytes, recorded_ns: int) -> Entry:
        """Rename a written entry to its final name, whose id is never older than its text."""
        view, journal = self._view, self._store.place.journal
        self._catch_up()
        before = (view.position.seq, view.position.ulid)
        entry = codec.decode(before[0] + 1, self.new_id(not_before_ns=recorded_ns), text)
        view.take(entry)
        disk.move(temporary, journal / file_name(entry.seq, entry.ulid))
        self._chain.add((entry.seq, entry.ulid), before, text)
        looked = folder_names.mark_of(journal)
        disk.sync_folder(journal)
        view.set_mark(looked=looked)
        return entry

    def _catch_up(self) -> None:
        """Read entries that hooks of other implementations may have added without the lock."""
        if not self._view.is_current() and not self._view.catch_up():
            raise JournalBroken(f"the journal {self._store.place.journal} was replaced during a write")

    def _write_snapshot(self, last_type: str) -> None:
        from bridle.journal.stores import state_file

        reason = state_file.reason_after(last_type)
        try:
            state_file.write_snapshot(self._store.run, self.state, saved_at=iso(time.time_ns()), reason=reason)
        except DiskError:
            pass  # a cache, as the pack

    def _check_newest(self) -> None:
        """Read the newest entry if it was known from the pack: nothing is appended after an invalid one."""
        position, unpacked = self._view.position, self._view.unpacked
        if position.seq and not unpacked:
            self._store.load(position.seq, position.ulid)

    def _with_harness(self, data: Mapping[str, object]) -> Mapping[str, object]:
        """Return the data with the run's harness in front, by the format."""
        harness = self._store.metadata().harness
        return data if harness is None or "harness" in data else {"harness": harness, **data}


def _clear_leftovers(run: Path) -> None:
    """Remove the temporary files of killed writers."""
    for name in os.listdir(run):
        if name.startswith(disk.TEMPORARY_PREFIX) and name.endswith(disk.TEMPORARY_SUFFIX):
            (run / name).unlink(missing_ok=True)
